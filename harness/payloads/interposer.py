"""Counts completed transfers of a process's channels, and acts at the k-th of them.

Transfers go through the functions that a hook table names; each is replaced by one that calls the
original and then counts. An empty poll is no transfer. Channels are told apart by the inode of the
pipe or socket behind the function's first argument, so that connections which a library opens for
itself (handing descriptors over, say) are left out. What C code does (semaphores, shared slots) does
not pass here and is not counted.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from harness.ports.backend import Hook, Transfer

MULTIPROCESSING = (
    # Queues, pipes and simple queues of the standard library all come down to these two.
    Hook(target="multiprocessing.connection:Connection._send_bytes", transfer="put"),
    Hook(target="multiprocessing.connection:Connection._recv_bytes", transfer="get"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trap:
    """What to do at the k-th transfer through one of these inodes."""

    inodes: frozenset[int]
    transfer: Transfer
    k: int
    act: Callable[[], None]


class Interposer:
    """The hooks of one process."""

    def __init__(self) -> None:
        self._traps: dict[_Trap, int] = {}
        self._counts: Counter[tuple[int, Transfer]] = Counter()
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

    def count(self, inodes: Iterable[int], transfer: Transfer) -> int:
        """How many transfers have been completed through these."""
        with self._lock:
            return sum(self._counts[inode, transfer] for inode in inodes)

    def trap(
        self, inodes: Iterable[int], transfer: Transfer, k: int, act: Callable[[], None]
    ) -> None:
        """Call `act` when the k-th transfer from now has been completed, before it is handed on."""
        with self._lock:
            self._traps[_Trap(inodes=frozenset(inodes), transfer=transfer, k=k, act=act)] = 0

    def _counting(self, original: Callable[..., Any], transfer: Transfer) -> Callable[..., Any]:
        @functools.wraps(original)
        def hooked(channel: Any, *args: Any, **kwargs: Any) -> Any:
            inode = _inode(channel)
            result = original(channel, *args, **kwargs)
            for act in self._completed(inode, transfer):
                act()
            return result

        return hooked

    def _completed(self, inode: int, transfer: Transfer) -> list[Callable[[], None]]:
        due = []
        with self._lock:
            self._counts[inode, transfer] += 1
            for trap in self._traps:
                if inode in trap.inodes and trap.transfer == transfer:
                    self._traps[trap] += 1
                    if self._traps[trap] == trap.k:
                        due.append(trap.act)
        return due


def _inode(channel: Any) -> int:
    """Of the pipe or socket behind it; -1 if there is none."""
    try:
        return inode_of(channel.fileno())
    except (OSError, ValueError):
        return -1


def inode_of(fd: int) -> int:
    """The inode behind a descriptor.

    Raises:
        OSError: it is closed.
    """
    return os.fstat(fd).st_ino
