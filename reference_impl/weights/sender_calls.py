"""What a scheme offers to its sender."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any

from reference_impl.core.clock import Deadline
from reference_impl.weights import collectors
from reference_impl.weights.outgoing import Outgoing
from reference_impl.weights.recipe import Arguments, Recipe
from reference_impl.weights.scheme_base import DEFAULT_TIMEOUT_S, SchemeBase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal, Self

    import torch
    from tensordict import TensorDictBase
    from torch import nn

    from reference_impl.core.channel import End
    from reference_impl.weights.conversation import Owned, Watched
    from reference_impl.weights.packing import Source, Strategy
    from reference_impl.weights.recipe import DeviceMap
    from reference_impl.weights.sender import Sender


class SenderCalls(SchemeBase):
    """See `WeightSyncScheme`."""

    def __init__(self, strategy: Strategy, *, sync: bool) -> None:
        super().__init__(strategy, sync=sync)
        self._out: Outgoing | None = None
        self._out_pid = -1

    @property
    def initialized_on_sender(self) -> bool:
        """Whether `init_on_sender` was called in this process."""
        return self._out is not None and self._out_pid == os.getpid()

    @property
    def synchronized_on_sender(self) -> bool:
        """Whether every worker was brought its first weights."""
        out = self._out
        return out is not None and len(out.connected) == out.sender.num_workers

    @property
    def sender(self) -> Sender:
        """The sending side, without the model.

        Raises:
            RuntimeError: before `init_on_sender`.
        """
        return self._sending("sender").sender

    @property
    def num_workers(self) -> int:
        """How many workers the sender was set up for.

        Raises:
            RuntimeError: before `init_on_sender`.
        """
        return self._sending("num_workers").sender.num_workers

    def init_on_sender(  # noqa: PLR0913 - torchrl's
        self,
        *,
        model_id: str | None = None,
        context: Any = None,
        weights: TensorDictBase | None = None,
        model: nn.Module | None = None,
        params_map: Mapping[int, TensorDictBase] | None = None,
        devices: Sequence[torch.device] | None = None,
        device_map_fn: DeviceMap | None = None,
        num_workers: int | None = None,
        ctx: Any = None,  # noqa: ARG002 - channels are the same in every start method
    ) -> None:
        """Take note of whose weights are meant; nothing is copied or sent. Again before `connect`: for another source.

        Args:
            model_id: what the context calls the model, "policy" or an attribute path such as
                `postproc.adv_module`.
            context: has the model, and `policy_device` or `num_workers`; held weakly.
            weights: a TensorDict, in the place of a model.
            model: what `send()` sends when it is given no weights; never written to.
            params_map: weights by worker; nothing else may be given with it. Those that are one
                object are copied once.
            devices: of the workers' models, one a worker. Weights travel in the CPU's memory.
            device_map_fn: makes the weights of a worker from its index and all weights, whenever
                they are sent.
            num_workers: how many workers there will be, at least 1.
            ctx: taken because torchrl gives it.

        Raises:
            ValueError: arguments contradict each other, or leave open what is meant.
            TypeError: the model is no module.
            AttributeError: the context has no such model.
            RuntimeError: this is a worker's side.
        """
        given = Arguments(
            model_id=model_id,
            context=context,
            weights=weights,
            model=model,
            params_map=params_map,
            devices=devices,
            device_map_fn=device_map_fn,
            num_workers=num_workers,
        )
        recipe = Recipe(given)
        if self._sides:
            raise RuntimeError("init_on_sender: this side is a worker's")
        self._out = self._own(recipe)
        self._out.recipe = recipe
        self.model_id = model_id
        if context is not None:
            self.context = context
            collectors.register(SchemeBase)

    def for_worker(
        self,
        worker_idx: int,
        *,
        kind: Literal["process", "thread"] = "process",
        replace: bool = False,
    ) -> Self:
        """Return the receiving side for one worker, to be handed to it.

        Args:
            worker_idx: which worker.
            kind: a thread of this process, or another process.
            replace: whether it takes the place of a worker that had its side, and is hung up on.
                `connect(worker_idx=...)` then brings it the current version.

        Raises:
            RuntimeError: before `init_on_sender`.
            ValueError: there is no such worker, or it was given its side already.
        """
        out = self._sending("for_worker")
        deadline = Deadline.after(DEFAULT_TIMEOUT_S)
        side = out.side_for(worker_idx, kind, deadline, replace=replace)
        return self.with_sides({worker_idx: side})

    def serves(self, worker_idx: int) -> bool:
        """Return whether a worker was given its side already.

        Raises:
            RuntimeError: before `init_on_sender`.
        """
        return worker_idx not in self._sending("serves").sides

    def watch(self, worker_idx: int, owned: Owned | Watched) -> None:
        """Say which process or thread a worker is, so that its death ends every wait for it."""
        self._sending("watch").sender.watch(worker_idx, owned)

    def send(
        self,
        weights: Source | Mapping[int, Source] | None = None,
        worker_ids: int | Iterable[int] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_S,
    ) -> int:
        """Send a snapshot of the weights, taken now; return its version once every target holds it.

        Every target is told before the first is waited for. The error, if any, is raised once every
        target has answered or is dead, or when the deadline has come, and names all that failed. A
        worker that could not apply the weights keeps those it has, whole; the next send does not
        depend on this one. An answer that comes later is dropped.

        Args:
            weights: a Module, a TensorDict, or a mapping of names (as in a `state_dict`) to
                tensors, on any device; one of these by worker; or None, which means what set-up
                said. Names, shapes and dtypes must be those of the workers' model.
            worker_ids: the targets; None means all.
            timeout: seconds for everything together; None means no limit.

        Raises:
            ValueError: an id is unknown or named twice, none is named, or `timeout` is negative;
                nothing was sent.
            TypeError: `weights` are no weights; nothing was sent.
            WorkerError: a target failed or died (`WorkerDied`), with its cause and traceback; of
                several, `WorkersFailed`.
            AnswerTimeout: targets were only late: they may still apply it.
            Closed: the scheme is closed.
            RuntimeError: before `connect`.
        """
        out = self._sending("send")
        return out.send(weights, worker_ids, Deadline.after(timeout), wait=self.sync)

    def send_async(
        self,
        weights: Source | Mapping[int, Source] | None = None,
        worker_ids: int | Iterable[int] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_S,
    ) -> int:
        """Do what `send` does, but wait for nobody; `wait_async` says what has become of it.

        The snapshot is taken before this returns.

        Raises:
            Exception: as `send`, but for what workers answer; RuntimeError if too many were not
                waited for.
        """
        out = self._sending("send_async")
        return out.send(weights, worker_ids, Deadline.after(timeout), wait=False)

    def wait_async(self, timeout: float | None = DEFAULT_TIMEOUT_S) -> int:
        """Wait for all that was sent and not waited for; return the last version.

        Raises:
            Exception: what `send` would have raised, of all of them together.
        """
        return self._sending("wait_async").wait(Deadline.after(timeout))

    def channels(self) -> dict[str, list[End]]:
        """Return the sender's ends by direction; a duplex end carries both."""
        peers = self._sending("channels").sender.conversation.peers
        ends = [peer.end for _, peer in sorted(peers.items())]
        return {"instructions": ends, "acks": list(ends)}

    def _synchronize(
        self, out: Outgoing, worker_idx: int | None, weights: Source | None, deadline: Deadline
    ) -> None:
        processes = getattr(self.context, "procs", None) or ()
        for worker, process in enumerate(processes):
            out.sender.watch(worker, collectors.StartedElsewhere(process))
        workers = out.sender.conversation.ledger.targets(worker_idx)
        out.connect(workers, weights, "connect", deadline, wait=not processes)

    def _own(self, recipe: Recipe) -> Outgoing:
        """Return the sender of this process, made if there is none; what a fork has inherited is another's."""
        out = self._out
        if out is not None and not self.initialized_on_sender:
            out.abandon()
            out = None
        if out is None:
            out, self._out_pid = Outgoing(recipe, self.strategy), os.getpid()
            weakref.finalize(self, _hang_up, out.sender, self._out_pid)
        elif recipe.num_workers != out.sender.num_workers:
            raise ValueError(
                f"num_workers is {recipe.num_workers}, but the scheme has {out.sender.num_workers}"
            )
        return out

    def _leave_sender(self) -> None:
        if self._out is None:
            return
        if self.initialized_on_sender:
            message = (
                "init_on_receiver: this is the sender; give a thread what for_worker() returns"
            )
            raise RuntimeError(message)
        self._sides = dict(self._out.sides)
        self._out.sides.clear()
        self._out.abandon()
        self._out = None

    def _sending(self, operation: str) -> Outgoing:
        if self._out is None or not self.initialized_on_sender:
            raise RuntimeError(f"{operation}: call init_on_sender first")
        return self._out


def _hang_up(sender: Sender, pid: int) -> None:
    """End what a scheme has begun that is collected; a forked copy of it has begun nothing."""
    if os.getpid() == pid:
        sender.close()
