"""`PolicyWorkers`: owned processes or threads that act with a private policy, whose weights a scheme brings."""

from __future__ import annotations

import os
import weakref
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
from reference_impl.weights.worker import WorkerSetup, run_in_process, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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

    def __init__(
        self,
        policy_factory: Callable[[], nn.Module],
        num_workers: int,
        *,
        scheme: WeightSyncScheme,
        start_method: StartMethod = "forkserver",
        start_timeout: float = 60.0,
        shutdown_timeout: float = 10.0,
    ) -> None:
        deadline = Deadline.after(start_timeout)
        Deadline.after(shutdown_timeout)  # refuses what is no time
        if start_method not in START_METHODS:
            raise ValueError(f"start_method must be one of {START_METHODS}, got {start_method!r}")
        if scheme.num_workers != num_workers:
            raise ValueError(
                f"num_workers is {num_workers}, but the scheme has {scheme.num_workers}"
            )
        self.num_workers = num_workers
        self._versions: list[int | None] = [None] * num_workers
        self._crew = _Crew(talk=Conversation(num_workers), sender=scheme.sender)
        self._finalizer = weakref.finalize(self, _end, self._crew, shutdown_timeout)
        try:
            self._crew.start(policy_factory, scheme, start_method, deadline)
            scheme.connect(timeout=deadline.left())
        except BaseException:
            self.close()
            raise

    @property
    def worker_pids(self) -> list[int]:
        """Process ids by worker; empty if the workers are threads."""
        return [owned.pid for owned in self._crew.owned if isinstance(owned, OwnedProcess)]

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
    sender: Sender
    owned: list[Owned] = field(default_factory=list)
    owner_pid: int = field(default_factory=os.getpid)

    def start(
        self,
        policy_factory: Callable[[], nn.Module],
        scheme: WeightSyncScheme,
        start_method: StartMethod,
        deadline: Deadline,
    ) -> None:
        with self.talk.turn("start", deadline):
            workers = self.talk.ledger.targets(None)
            request_id = self.talk.begin(workers)
            for worker in workers:
                kind: Kind = "thread" if start_method == "thread" else "process"
                ours, theirs = channel.pair(kind)
                self.talk.peers[worker] = Peer(end=ours)
                setup = WorkerSetup(
                    worker=worker,
                    policy_factory=[policy_factory],
                    end=theirs,
                    scheme=scheme.for_worker(worker, kind=kind),
                    request_id=request_id,
                )
                owned = _start_one(setup, start_method)
                self.owned.append(owned)
                self.talk.peers[worker].owned = owned
                scheme.watch(worker, owned)
            self.talk.gather(request_id, "start", deadline)


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
        channel.abandon(setup.end)
        setup.scheme.hand_over()


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
    crew.sender.close()
    stop([_Member(owned) for owned in crew.owned], Deadline.after(timeout))
    with (
        crew.talk.quiet(_QUIET_WAIT_S) as no_forward,
        crew.sender.conversation.quiet(_QUIET_WAIT_S) as no_send,
    ):
        if no_forward and no_send:  # nobody waits on a sentinel
            for owned in crew.owned:
                if isinstance(owned, OwnedProcess):
                    owned.release()
