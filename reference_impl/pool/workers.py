"""The workers of one pool: started together, ended together, never holding the pool."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from reference_impl.core import channel, shutdown
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.core.ownership import OwnedProcess, start_process, start_thread
from reference_impl.pool.messages import Built, NotBuilt, Stop
from reference_impl.pool.state import Lost
from reference_impl.pool.worker import Part, Serving, serve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_impl.core.channel import End
    from reference_impl.core.ownership import OwnedThread, StartMethod
    from reference_impl.pool.env_params import Update
    from reference_impl.pool.factories import Factory
    from reference_impl.pool.slot_wires import Wires

Backend = Literal["multiprocessing", "threading"]
_LOG: Final = logging.getLogger(__name__)
_CONSTRUCTION: Final = "construction"
_PREPARED_BY: Final = "reference_impl.pool.warm"
_EXIT_S: Final = (
    0.2  # what a process that hung up gets to be seen as gone, so that its exit code is known
)


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker: what runs it, the owner's end of its channel, and which envs it has."""

    runner: OwnedProcess | OwnedThread
    end: End
    envs: range

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.runner.alive

    @property
    def sentinels(self) -> tuple[int, ...]:
        """What becomes readable when its process is gone; empty for a thread."""
        return (self.runner.sentinel,) if isinstance(self.runner, OwnedProcess) else ()

    def ask(self) -> None:
        """Ask it to end."""
        with contextlib.suppress(channel.ChannelClosed):  # then it has been told already
            channel.send(self.end, Stop())

    def terminate(self) -> None:
        """Tell it to end at once: a signal, or for a thread the end of its channel."""
        if isinstance(self.runner, OwnedProcess):
            self.runner.terminate()
        else:
            channel.close(self.end)

    def kill(self) -> None:
        """End its process; a thread cannot be ended from outside."""
        if isinstance(self.runner, OwnedProcess):
            self.runner.kill()

    def join(self, deadline: Deadline) -> bool:
        """Wait for its end; return whether it ended."""
        return self.runner.join(deadline)

    def release(self) -> None:
        """Give back what the operating system holds for it; the channel is over."""
        channel.close(self.end)
        if isinstance(self.runner, OwnedProcess):
            self.runner.release()

    def post_mortem(self) -> Lost:
        """Return why a worker whose channel is over or whose process is gone cannot be reached."""
        if not isinstance(self.runner, OwnedProcess):
            return Lost(reason="" if not self.alive else "its channel is closed")
        if self.runner.join(Deadline.after(_EXIT_S)):
            return Lost(exitcode=self.runner.exitcode)
        return Lost(reason="its channel is closed")


class Workers:
    """All workers of a pool; `end` is the one way out, from any thread and any number of times."""

    def __init__(
        self,
        backend: Backend,
        start_method: StartMethod,
        wires: Wires | None = None,
        *,
        shows_version: bool = False,
        envs_per_worker: int = 1,
    ) -> None:
        self._shows_version: Final = shows_version
        self._envs_per_worker: Final = envs_per_worker
        self._wires: Final = wires
        self._backend: Final = backend
        self._start_method: Final = start_method
        self._owner_pid = os.getpid()
        self._ending = (
            threading.Lock()
        )  # the second to call `end` waits for the first: ended is ended
        self.members: list[Worker] = []
        self.closing: Final = threading.Event()
        # Guards `_newest`, the replacement that is waited for: without it one could be started after
        # the last look, and be waited for by who holds the conversation's lock.
        self._replacing = threading.Lock()
        self._newest: Worker | None = None
        self._factories: Sequence[Factory] = ()
        self._retired: list[Worker] = []  # threads that were replaced, and may not have ended

    def start(self, factories: Sequence[Factory], deadline: Deadline) -> list[Built]:
        """Start the workers and wait until all envs are there, one a factory.

        Raises:
            WorkerError: an env could not be made in time; every worker was ended.
        """
        self._factories = tuple(factories)
        try:
            built: list[Built] = []
            parts = [Part(factory=factory) for factory in factories]
            for index, first in enumerate(range(0, len(parts), self._envs_per_worker)):
                mine = parts[first : first + self._envs_per_worker]
                self.members.append(self._new_worker(index, first, mine))
                if self._backend == "threading":  # threads make their envs one after the other
                    built += self._await_built((index,), deadline)
            return built or self._await_built(range(len(self.members)), deadline)
        except BaseException:
            self.end(_no_longer_than(deadline))
            raise

    def replace(
        self,
        index: int,
        renewed: Sequence[tuple[Sequence[Update], int]],
        deadline: Deadline,
    ) -> None:
        """Start another worker in the place of one that is lost, and wait until its envs are there.

        Args:
            index: which.
            renewed: for each of its envs the updates of its parameters, made before anything else
                is, and its seed.
            deadline: for making them.

        Raises:
            WorkerError: an env could not be made in time; the place holds a worker that is gone.
            Closed: the pool is being closed.
        """
        with self._ending, self._replacing:
            if self.closing.is_set():
                raise Closed("the pool is closed")
            old = self.members[index]
            channel.close(old.end)
            old.kill()
            if not old.join(Deadline.after(_EXIT_S)):
                self._retired.append(old)
            else:
                old.release()
            parts = [
                Part(factory=self._factories[env], updates=tuple(updates), seed=seed)
                for env, (updates, seed) in zip(old.envs, renewed, strict=True)
            ]
            new = self._new_worker(index, old.envs.start, parts)
            self.members[index] = self._newest = new
        try:
            self._await_built((index,), deadline)
        except BaseException:
            new.kill()
            channel.close(new.end)
            raise
        finally:
            with self._replacing:
                self._newest = None

    def give_up(self) -> None:
        """Let nobody be replaced any more."""
        self.closing.set()
        with self._replacing:
            if self._newest is not None:
                self._newest.terminate()
                self._newest.kill()

    def end(self, timeout_s: float | None) -> None:
        """End all workers within `timeout_s`; a forked copy of the owner leaves them alone.

        Threads that do not return from their env cannot be ended: they are logged and left.
        """
        if os.getpid() != self._owner_pid:
            return
        self.closing.set()
        deadline = Deadline.after(timeout_s)
        left = deadline.left()
        if not self._ending.acquire(timeout=-1 if left is None else left):
            return
        try:
            stuck = shutdown.stop([*self.members, *self._retired], deadline)
            for index in sorted(stuck):
                _LOG.warning("worker %d did not end within %s s and is left", index, timeout_s)
            for worker in (*self.members, *self._retired):
                worker.release()
            if self._wires is not None:
                self._wires.close()
        finally:
            self._ending.release()

    def _new_worker(self, index: int, first: int, parts: Sequence[Part]) -> Worker:
        processes = self._backend == "multiprocessing"
        ours, theirs = channel.pair("process" if processes else "thread")
        # A forked child holds copies of the ends of the workers before it, and of ours.
        inherited = (ours, *(each.end for i, each in enumerate(self.members) if i != index))
        forks = processes and self._start_method == "fork"
        wires = self._wires
        serving = Serving(
            end=theirs,
            parts=tuple(parts),
            own_process=processes,
            wire=None if wires is None else wires[first],
            shows_version=self._shows_version,
            inherited=inherited if forks else (),
            inherited_bells=wires.bells_of_others(first) if forks and wires is not None else (),
        )
        envs = range(first, first + len(parts))
        name = f"env-{first}" if len(parts) == 1 else f"envs-{first}-{envs[-1]}"
        runner: OwnedProcess | OwnedThread
        try:
            if processes:
                runner = start_process(
                    serve,
                    (serving,),
                    name=name,
                    start_method=self._start_method,
                    prepared_by=_PREPARED_BY,
                )
                channel.abandon(theirs)
            else:
                runner = start_thread(serve, (serving,), name=name)
        except Exception as error:  # noqa: BLE001 - raised again with the worker's name
            channel.close(ours)
            channel.close(theirs)
            cause = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
            text = traceback.format_exc()
            raise WorkerError(index, _CONSTRUCTION, cause, text) from None
        return Worker(runner, ours, envs)

    def _await_built(self, started: Sequence[int], deadline: Deadline) -> list[Built]:
        built: dict[int, list[Built]] = {index: [] for index in started}
        while waiting := {
            index: self.members[index]
            for index, found in built.items()
            if len(found) < len(self.members[index].envs)
        }:
            sentinels = [fd for worker in waiting.values() for fd in worker.sentinels]
            ready = channel.wait([w.end for w in waiting.values()], sentinels, deadline)
            if not ready:
                late = min(waiting)
                of = self._named(late, len(built[late]))
                raise WorkerError(late, _CONSTRUCTION, "the env was not made in time", env=of)
            for index, worker in waiting.items():
                if worker.end in ready or not ready.isdisjoint(worker.sentinels):
                    of = self._named(index, len(built[index]))
                    built[index].append(_next_message(index, worker, of))
        return [one for found in built.values() for one in found]

    def _named(self, index: int, place: int) -> int | None:
        """The env at a worker's place, as errors have it."""
        return None if self._envs_per_worker == 1 else self.members[index].envs[place]


def _next_message(index: int, worker: Worker, env: int | None) -> Built:
    channel.wait((worker.end,), (), Deadline.after(0.0))  # what it said before it went counts
    if not worker.end.has_message():
        lost = worker.post_mortem()
        raise WorkerDied(index, _CONSTRUCTION, lost.exitcode, lost.reason, env)
    try:
        message: Built | NotBuilt = channel.recv(worker.end)
    except Exception as error:  # noqa: BLE001 - raised again with the worker's name
        text = traceback.format_exc()
        raise WorkerError(index, _CONSTRUCTION, repr(error), text, env) from None
    if isinstance(message, NotBuilt):
        raise WorkerError(index, _CONSTRUCTION, message.cause, message.traceback, env)
    return message


def _no_longer_than(deadline: Deadline) -> float:
    left = deadline.left()
    return 2.0 if left is None else min(2.0, left)
