"""The few things of Linux that Python has no name for; elsewhere they say that they did nothing."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWNS = 0x0002_0000
_MS_REC = 0x4000
_MS_PRIVATE = 1 << 18
_MS_REMOUNT = 32


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def thread_count() -> int:
    """How many threads this process has, whoever started them; without /proc, those that Python knows of."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def become_subreaper() -> bool:
    """Orphans among our descendants become our children, also those in sessions of their own."""
    libc = _libc()
    return libc is not None and libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def signal_at_parents_death(number: int) -> bool:
    """Have the kernel send us a signal when our parent's thread ends."""
    libc = _libc()
    return libc is not None and libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0) == 0


def private_shared_memory() -> bool:
    """Give this process and its children a /dev/shm of their own; False where that is not allowed."""
    libc = _libc()
    if libc is None or os.geteuid() != 0:
        return False
    if libc.unshare(_CLONE_NEWNS) != 0:
        return False
    if libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return False
    return bool(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, None) == 0)


def resize_shared_memory(size: int) -> bool:
    """Give a /dev/shm of our own another size, in bytes; False where it is not ours to change."""
    libc = _libc()
    if libc is None or os.geteuid() != 0:
        return False
    options = f"size={size}".encode()
    return bool(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", _MS_REMOUNT, options) == 0)
