"""What a pool with slots and its worker processes share, and the owner's way of waiting on it."""

from __future__ import annotations

import contextlib
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_impl.core.arena import Arena
from reference_impl.core.bell import Bell
from reference_impl.core.holds import Holdable, held

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from reference_impl.core.clock import Deadline
    from reference_impl.pool.workers import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One worker's part, sent along with its arguments.

    Attributes:
        envs: its envs.
        arena: the memory; it has its size once the worker is told the layout.
        asked: rings when commands were written.
        everyone: rings when commands were written for all workers of the pool; theirs in common.
        answered: rings when commands were carried out.
    """

    envs: range
    arena: Arena
    asked: Bell
    everyone: Bell
    answered: Bell

    def release(self) -> None:
        """Close this process's descriptors."""
        self.arena.release()
        self.asked.release()
        self.everyone.release()
        self.answered.release()


class Wires(Holdable):
    """The owner's side: all wires, a nudge, and what it takes to wait on them.

    Raises:
        OSError: the process may not have so many descriptors; it has got none of them.
    """

    def __init__(self, num_envs: int, envs_per_worker: int = 1) -> None:
        super().__init__()
        self._envs_per_worker: Final = envs_per_worker
        firsts = range(0, num_envs, envs_per_worker)
        with contextlib.ExitStack() as undone:
            self.arena: Final = Arena()
            undone.callback(self.arena.release)
            bells = []
            for _ in range(2 * len(firsts) + 2):
                bells.append(Bell())
                undone.callback(bells[-1].release)
            undone.pop_all()
        self._nudge = bells.pop()
        self.everyone: Final = bells.pop()
        self._members = [
            Wire(
                envs=range(first, min(first + envs_per_worker, num_envs)),
                arena=self.arena,
                asked=bells[2 * worker],
                everyone=self.everyone,
                answered=bells[2 * worker + 1],
            )
            for worker, first in enumerate(firsts)
        ]
        self._envs_of = {wire.answered.fileno(): wire.envs for wire in self._members}
        # Ends of workers and whole messages: rare, and watched beside every wait for a bell.
        self._rare: select.epoll | None = None
        self._any: select.epoll | None = None
        self._first: select.epoll | None = None

    def __getitem__(self, env: int) -> Wire:
        return self._members[env // self._envs_per_worker]

    def call(self, envs: Sequence[int]) -> None:
        """Ring for the workers of `envs`: once, if they are many, else for each."""
        workers = {env // self._envs_per_worker for env in envs}
        if 2 * len(workers) >= len(self._members) > 2:
            self.everyone.ring()  # who has nothing to do goes back to sleep
        else:
            for worker in workers:
                self._members[worker].asked.ring()

    def bells_of_others(self, env: int) -> tuple[Bell, ...]:
        """Return the bells that the worker of `env` has no use for."""
        others = (wire for wire in self._members if env not in wire.envs)
        return (self._nudge, *(bell for wire in others for bell in (wire.asked, wire.answered)))

    def connect(self, workers: Sequence[Worker]) -> None:
        """Begin to watch the workers' channels and ends."""
        self._rare = select.epoll()
        self._rare.register(self._nudge.fileno(), select.EPOLLIN)
        for worker in workers:
            self.watch(worker)
        self._any = self._poller_of(self._members)
        self._first = self._poller_of(self._members[:1])

    def _poller_of(self, wires: Sequence[Wire]) -> select.epoll:
        assert self._rare is not None
        poller = select.epoll()
        poller.register(self._rare.fileno(), select.EPOLLIN)
        for wire in wires:
            # Edge-triggered: each ring is told once, and none has to be read.
            poller.register(wire.answered.fileno(), select.EPOLLIN | select.EPOLLET)
        return poller

    def watch(self, worker: Worker) -> None:
        """Begin to watch a worker's channel and end."""
        with held((self,)):
            if not self.closed and self._rare is not None:
                for fd in (worker.end.fileno(), *worker.sentinels):
                    if fd >= 0:
                        self._rare.register(fd, select.EPOLLIN)

    def forget(self, worker: Worker) -> None:
        """Watch a worker no more that is over: it would be ready for ever."""
        with held((self,)):
            if not self.closed and self._rare is not None:
                for fd in (worker.end.fileno(), *worker.sentinels):
                    with contextlib.suppress(OSError, ValueError):  # closed, hence not watched
                        self._rare.unregister(fd)

    def nudge(self) -> None:
        """Wake whoever waits."""
        with held((self,)):
            if not self.closed:
                self._nudge.ring()

    def wait_for_first(self, deadline: Deadline) -> None:
        """Wait until the worker of env 0 has rung, or something rare happens; called while held.

        Of those that wait for the bell of everyone, the kernel wakes the latest first: that of env
        0 is hardly ever among the first to answer. It may return early, for a ring that `rung` has
        told of already.
        """
        assert self._first is not None
        self._first.poll(deadline.left(), 2)

    def rung(self, deadline: Deadline) -> tuple[list[int], bool]:
        """Wait for any ring, or something rare; return whose workers rang, and if it is rare.

        Called while held. Each ring is told once, and may be an old one: of an answer that was seen
        without it.
        """
        assert self._any is not None
        ready = self._any.poll(deadline.left(), len(self._members) + 1)
        rang = [envs for fd, _ in ready if (envs := self._envs_of.get(fd)) is not None]
        return [env for envs in rang for env in envs], len(rang) < len(ready)

    def fileno(self) -> int:
        """Return what is readable while `rung` has something to tell."""
        assert self._any is not None
        return self._any.fileno()

    def rare(self) -> Collection[int]:
        """Return the descriptors of channels and processes that are ready, without waiting."""
        assert self._rare is not None
        return {fd for fd, _ in self._rare.poll(0)} - {self._nudge.fileno()}

    def take_nudge(self) -> None:
        """Hear no nudge before the next one."""
        self._nudge.take()

    def close(self) -> None:
        """Have all descriptors released, now or when nobody waits on them any more."""
        with self._lock:
            self._over = True
            self._release_if_unused()

    def release(self) -> None:
        """Close all descriptors."""
        for wire in self._members:
            wire.release()
        self._nudge.release()
        for poller in (self._any, self._first, self._rare):
            if poller is not None:
                poller.close()
