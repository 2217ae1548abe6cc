"""`PolicyWorkers`: owned processes or threads that act with a private policy, whose weights a scheme brings."""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from tensordict import TensorDict

from reference_impl.core import channel, wire
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerError
from reference_impl.core.ownership import OwnedProcess, start_process, start_thread
from reference_impl.core.shutdown import stop
from reference_impl.weights.conversation import Conversation, Peer
from reference_impl.weights.messages import Acted, Forward, failure_of
from reference_impl.weights.recipe import POLICY
from reference_impl.weights.worker import WorkerSetup, run_in_process, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import torch
    from tensordict import TensorDictBase
    from torch import nn

    from reference_impl.core.channel import End
    from reference_impl.weights.conversation import Owned
    from reference_impl.weights.scheme import WeightSyncScheme
    from reference_impl.weights.sender import Sender

Kind = Literal["process", "thread"]
StartMethod = Literal["forkserver", "fork", "spawn", "thread"]
START_METHODS: Final[tuple[StartMethod, ...]] = ("forkserver", "fork", "spawn", "thread")
DEFAULT_TIMEOUT_S: Final = 10.0
# Whoever waited was woken by the hang-up and leaves at once, unless this runs in a finalizer on its very thread.
_QUIET_WAIT_S: Final = 0.2
_DISMISSAL_WAIT_S: Final = 1.0  # a killed process needs less; a thread may not listen at all


class PolicyWorkers:
    """Workers that each own a policy; a forward of one acts on one version of the weights, whole.

    Each worker calls `policy_factory()`, a module that shares no tensor with any other, and
    receives its weights through
    `scheme`, whose `init_on_sender` was called before: construction connects it, so that every
    worker holds version 0 when it returns. The policy is called as `policy(observation)` without
    gradients, where the observation is a Tensor or a TensorDict, and may return whatever can be
    pickled; both go by value, in threads too.

    Workers end with `close()`, with the owner, or with the garbage collection of this object.

    Args:
        policy_factory: builds a policy; must be picklable for "spawn" and "forkserver".
        num_workers: how many, at least 1, as the scheme was told.
        scheme: brings the weights; it is shut down with the workers.
        others: schemes of other models, by where a policy has them: an attribute path such as
            `postproc.adv_module`. Each has versions of its own.
        start_method: "forkserver", "fork" and "spawn" give processes, "thread" gives threads.
        start_timeout: seconds until every worker must have started and hold version 0.
        shutdown_timeout: seconds in which all workers have ended when `close` returns; those that
            do not are killed.

    Raises:
        ValueError: an argument is not valid; nothing was started.
        RuntimeError: the scheme was not set up; nothing was started.
        WorkerError: a worker could not be started, with its cause and traceback; nothing is left
            behind.
        AnswerTimeout: a worker did not start in time; nothing is left behind.
    """

    def __init__(  # noqa: PLR0913 - all but three have defaults
        self,
        policy_factory: Callable[[], nn.Module],
        num_workers: int,
        *,
        scheme: WeightSyncScheme,
        others: Mapping[str, WeightSyncScheme] | None = None,
        start_method: StartMethod = "forkserver",
        start_timeout: float = 60.0,
        shutdown_timeout: float = 10.0,
    ) -> None:
        deadline = Deadline.after(start_timeout)
        Deadline.after(shutdown_timeout)  # refuses what is no time
        if start_method not in START_METHODS:
            raise ValueError(f"start_method must be one of {START_METHODS}, got {start_method!r}")
        self._schemes = {POLICY: scheme, **(others or {})}
        for each in self._schemes.values():
            if each.num_workers != num_workers:
                raise ValueError(
                    f"num_workers is {num_workers}, but the scheme has {each.num_workers}"
                )
        self.num_workers = num_workers
        self._versions: list[int | None] = [None] * num_workers
        self._policy_factory = policy_factory
        self._crew = _Crew(
            talk=Conversation(num_workers),
            senders=[each.sender for each in self._schemes.values()],
            start_method=start_method,
        )
        self._finalizer = weakref.finalize(self, _end, self._crew, shutdown_timeout)
        try:
            with self._crew.talk.turn("start", deadline):
                self._crew.start(range(num_workers), policy_factory, self._schemes, deadline)
            for each in self._schemes.values():
                each.connect(timeout=deadline.left())
        except BaseException:
            self.close()
            raise

    @property
    def worker_pids(self) -> list[int]:
        """Process ids by worker; empty if the workers are threads."""
        owned = (each for _, each in sorted(self._crew.owned.items()))
        return [each.pid for each in owned if isinstance(each, OwnedProcess)]

    @property
    def versions(self) -> list[int | None]:
        """Weights version of each worker's last forward that was received here; None before the first."""
        return list(self._versions)

    @property
    def closed(self) -> bool:
        """Whether the workers were told to end."""
        return self._crew.talk.closed

    def channels(self) -> dict[str, list[End]]:
        """Return the owner's ends by direction; a duplex end carries both."""
        ends = [peer.end for _, peer in sorted(self._crew.talk.peers.items())]
        return {"commands": ends, "results": list(ends)}

    def forward(
        self,
        observation: torch.Tensor | TensorDictBase | None = None,
        *,
        worker_ids: int | Iterable[int] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_S,
    ) -> list[Any]:
        """Run every targeted worker's policy once and return what they returned, in the order of the targets.

        Args:
            observation: given to each policy by value; None means an empty TensorDict.
            worker_ids: the targets; None means all.
            timeout: seconds for everything together; None means no limit.

        Raises:
            ValueError: an id is unknown or named twice, none is named, or `timeout` is negative;
                nothing ran.
            WorkerError: a policy raised, or its worker died (`WorkerDied`); of several,
                `WorkersFailed`.
            AnswerTimeout: workers were only late; what they still return is dropped.
            Closed: the workers were closed.
        """
        deadline = Deadline.after(timeout)
        talk = self._crew.talk
        targets = talk.ledger.targets(worker_ids)
        given = wire.dumps(TensorDict({}, batch_size=[]) if observation is None else observation)
        with talk.turn("forward", deadline):
            request_id = talk.begin(targets)
            message = Forward(request_id=request_id, observation=given)
            answers = talk.ask(request_id, message, "forward", deadline)
        values = []
        for worker in targets:
            acted = answers[worker]
            assert isinstance(acted, Acted)
            self._versions[worker] = acted.version
            values.append(wire.loads(acted.value))
        return values

    def restart(self, worker: int, *, timeout: float | None = 60.0) -> None:
        """Replace a worker, dead or alive, by a new one, which is brought the current version of every model.

        What the old one was asked is lost; a process is killed.

        Args:
            worker: which.
            timeout: seconds for everything together; None means no limit.

        Raises:
            ValueError: there is no such worker, or `timeout` is negative; nothing has changed.
            WorkerError, AnswerTimeout: the new one did not start, or did not take its weights: there is
                none then.
            Closed: the workers were closed.
        """
        deadline = Deadline.after(timeout)
        talk = self._crew.talk
        (place,) = talk.ledger.targets(worker)
        # Until it is connected: before, a forward would act on weights that nobody sent.
        with talk.turn("restart", deadline):
            self._versions[place] = None
            self._crew.dismiss(place)
            try:
                self._crew.start((place,), self._policy_factory, self._schemes, deadline)
                for scheme in self._schemes.values():
                    scheme.connect(worker_idx=place, timeout=deadline.left())
            except BaseException:
                self._crew.dismiss(place)
                raise

    def close(self) -> None:
        """End all workers within the shutdown timeout, the scheme with them; closing again does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        """Return the workers, which `with` closes."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Close."""
        self.close()


@dataclass(slots=True, kw_only=True)
class _Crew:
    """What ends with the owner, and holds nothing of it: neither the trainer's model nor the factory."""

    talk: Conversation
    senders: list[Sender]
    start_method: StartMethod
    owned: dict[int, Owned] = field(default_factory=dict)
    dismissed: list[Owned] = field(default_factory=list)  # threads that would not end
    owner_pid: int = field(default_factory=os.getpid)

    def start(
        self,
        workers: Iterable[int],
        policy_factory: Callable[[], nn.Module],
        schemes: Mapping[str, WeightSyncScheme],
        deadline: Deadline,
    ) -> None:
        """Start workers in places that have none; whoever calls has the turn."""
        kind: Kind = "thread" if self.start_method == "thread" else "process"
        workers = tuple(workers)
        request_id = self.talk.begin(workers)
        for worker in workers:
            self._start(worker, policy_factory, schemes, kind, request_id)
        self.talk.gather(request_id, "start", deadline)

    def _start(
        self,
        worker: int,
        policy_factory: Callable[[], nn.Module],
        schemes: Mapping[str, WeightSyncScheme],
        kind: Kind,
        request_id: int,
    ) -> None:
        ours, theirs = channel.pair(kind)
        self.talk.peers[worker] = Peer(end=ours)
        setup = WorkerSetup(
            worker=worker,
            policy_factory=[policy_factory],
            end=theirs,
            schemes={
                model_id: scheme.for_worker(worker, kind=kind, replace=scheme.serves(worker))
                for model_id, scheme in schemes.items()
            },
            request_id=request_id,
        )
        owned = _start_one(setup, self.start_method)
        self.owned[worker] = self.talk.peers[worker].owned = owned
        for scheme in schemes.values():
            scheme.watch(worker, owned)

    def dismiss(self, worker: int) -> None:
        """End whoever has this place; whoever calls has the turn."""
        owned = self.owned.pop(worker, None)
        channel.close(self.talk.peers[worker].end)
        self.talk.ledger.on_replaced(worker)
        if isinstance(owned, OwnedProcess):
            owned.kill()
        if owned is not None and not owned.join(Deadline.after(_DISMISSAL_WAIT_S)):
            self.dismissed.append(owned)

    def everybody(self) -> list[Owned]:
        """Everything that was started and may still run."""
        return [*self.owned.values(), *self.dismissed]


def _start_one(setup: WorkerSetup, start_method: StartMethod) -> Owned:
    name = f"policy-worker-{setup.worker}"
    if start_method == "thread":
        return start_thread(run_in_thread, (setup,), name=name)
    try:
        return start_process(run_in_process, (setup,), name=name, start_method=start_method)
    except Exception as error:
        failure = failure_of(error)
        raise WorkerError(setup.worker, "start", failure.cause, failure.traceback) from error
    finally:  # the process has its own
        setup.hand_over()


@dataclass(frozen=True, slots=True)
class _Member:
    """A worker as the shutdown plan sees it: asked by hanging up, which both of its threads hear."""

    owned: Owned

    @property
    def alive(self) -> bool:
        return self.owned.alive

    def ask(self) -> None:
        return None  # the crew has hung up on everybody already

    def terminate(self) -> None:
        if isinstance(self.owned, OwnedProcess):
            self.owned.terminate()

    def kill(self) -> None:
        if isinstance(self.owned, OwnedProcess):
            self.owned.kill()

    def join(self, deadline: Deadline) -> bool:
        return self.owned.join(deadline)


def _end(crew: _Crew, timeout: float) -> None:
    if (
        os.getpid() != crew.owner_pid
    ):  # a forked copy of the owner must not hang up on the owner's workers
        return
    crew.talk.close()
    for sender in crew.senders:
        sender.close()
    stop([_Member(owned) for owned in crew.everybody()], Deadline.after(timeout))
    with ExitStack() as held:
        talks = [crew.talk, *(sender.conversation for sender in crew.senders)]
        if all(held.enter_context(talk.quiet(_QUIET_WAIT_S)) for talk in talks):
            for owned in crew.everybody():  # nobody waits on a sentinel
                if isinstance(owned, OwnedProcess):
                    owned.release()
