"""Counts completed transfers of a process's channels, and acts at the k-th of them.

Transfers go through the functions that a hook table names; each is replaced by one that calls the
original and then counts. An empty poll is no transfer. Channels are told apart by the pipe or socket
behind the function's first argument, so that connections which a library opens for itself (handing
descriptors over, say) are left out. What C code does (semaphores, shared slots) does not pass here
and is not counted; nor can doorbells be, which all share one anonymous inode.
"""

from __future__ import annotations

import functools
import importlib
import os
import stat
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from harness.ports.backend import Hook, Transfer

Pipe = tuple[int, int]  # device and inode

MULTIPROCESSING = (
    # Queues, pipes and simple queues of the standard library all come down to these two.
    Hook(target="multiprocessing.connection:Connection._send_bytes", transfer="put"),
    Hook(target="multiprocessing.connection:Connection._recv_bytes", transfer="get"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trap:
    """What to do at the k-th transfer through one of these pipes or sockets."""

    pipes: frozenset[Pipe]
    transfer: Transfer
    k: int
    act: Callable[[], None]


class Interposer:
    """The hooks of one process."""

    def __init__(self) -> None:
        self._traps: dict[_Trap, int] = {}
        self._lock = threading.Lock()  # feeder threads put while the main thread gets

    def install(self, hooks: Iterable[Hook]) -> None:
        """Replace every function that the hooks name.

        Raises:
            ImportError: a hook names what is not there.
        """
        for hook in hooks:
            module, _, path = hook.target.partition(":")
            *owners, name = path.split(".")
            owner: Any = importlib.import_module(module)
            for each in owners:
                owner = getattr(owner, each)
            if not hasattr(owner, name):
                raise ImportError(f"there is no {hook.target} to hook")
            setattr(owner, name, self._counting(getattr(owner, name), hook.transfer))

    def trap(
        self, descriptors: Iterable[int], transfer: Transfer, k: int, act: Callable[[], None]
    ) -> None:
        """Call `act` when the k-th transfer from now has been completed, before it is handed on.

        Args:
            descriptors: of the channel, in this process.
            transfer: which way.
            k: from 1.
            act: called in the thread that put or got.

        Raises:
            OSError: a descriptor is closed.
            ValueError: what is behind one cannot be told from others.
        """
        pipes = frozenset(_pipe(fd) for fd in descriptors)
        with self._lock:
            self._traps[_Trap(pipes=pipes, transfer=transfer, k=k, act=act)] = 0

    def _counting(self, original: Callable[..., Any], transfer: Transfer) -> Callable[..., Any]:
        @functools.wraps(original)
        def hooked(channel: Any, *args: Any, **kwargs: Any) -> Any:
            pipe = _behind(channel)
            result = original(channel, *args, **kwargs)
            for act in self._completed(pipe, transfer):
                act()
            return result

        return hooked

    def _completed(self, pipe: Pipe | None, transfer: Transfer) -> list[Callable[[], None]]:
        due = []
        with self._lock:
            for trap in self._traps:
                if pipe in trap.pipes and trap.transfer == transfer:
                    self._traps[trap] += 1
                    if self._traps[trap] == trap.k:
                        due.append(trap.act)
        return due


def _behind(channel: Any) -> Pipe | None:
    """The pipe or socket behind it; None if there is none that can be told from others."""
    try:
        return _pipe(channel.fileno())
    except (OSError, ValueError):
        return None


def _pipe(fd: int) -> Pipe:
    status = os.fstat(fd)
    if not stat.S_ISFIFO(status.st_mode) and not stat.S_ISSOCK(status.st_mode):
        raise ValueError(f"descriptor {fd} is neither a pipe nor a socket")
    return status.st_dev, status.st_ino
