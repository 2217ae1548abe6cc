"""The only place where the reference starts processes and threads: each has an owner.

A worker process ignores SIGINT (its owner decides), has the default reaction to SIGTERM, and ends
with its
owner: by a watch on the owner's sentinel in a thread of its own, and by the kernel's parent-death
    signal where
that follows the owning process rather than one of its threads.
"""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

    from reference_impl.core.clock import Deadline

StartMethod = Literal["fork", "spawn", "forkserver"]
START_METHODS: Final[tuple[StartMethod, ...]] = ("forkserver", "fork", "spawn")
_PR_SET_PDEATHSIG: Final = 1
# What workers need, or their owner's script imports on top and each worker would import once more:
# a fork server has of these what its first owner has.
_PRELOAD: Final = (
    "torch",
    "tensordict",
    "torchrl.envs",
    "torchrl.collectors",
    "torchrl.data",
    "torchrl.modules",
    "torchrl.objectives",
    "gymnasium",
    "gymnasium.vector",
)
_forkserver_prepared = False


class OwnedProcess:
    """A worker process and the means to end it; all of it may be used from any thread."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        # Guards `_process` against being released while another thread asks it something.
        self._lock = threading.Lock()
        self._released = False
        self._exitcode: int | None = None
        self.pid: Final[int] = process.pid or 0
        self.sentinel: Final[int] = process.sentinel
        self.name: Final[str] = process.name

    @property
    def exitcode(self) -> int | None:
        """The exit code; negative: killed by that signal; None: running, or not yet known."""
        with self._lock:
            return self._exitcode if self._released else self._process.exitcode

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        with self._lock:
            return not self._released and self._process.is_alive()

    def terminate(self) -> None:
        """Send SIGTERM; a process that is gone is left alone."""
        with self._lock:
            if not self._released:
                self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL, which a stopped process obeys too."""
        with self._lock:
            if not self._released:
                self._process.kill()

    def join(self, deadline: Deadline) -> bool:
        """Wait for its end up to the deadline; return whether it ended."""
        if not self.alive:
            return True
        if wait([self.sentinel], deadline.left()):
            with self._lock:
                if not self._released:
                    self._process.join(deadline.left())
        return not self.alive

    def release(self) -> None:
        """Give back the sentinel's descriptor, if the process has ended; nobody may wait on it."""
        with self._lock:
            if not self._released and not self._process.is_alive():
                self._exitcode = self._process.exitcode
                self._process.close()
                self._released = True


class OwnedThread:
    """A worker thread; nobody can end it but itself."""

    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread
        self.name: Final[str] = thread.name

    @property
    def alive(self) -> bool:
        """Whether the thread still runs."""
        return self._thread.is_alive()

    def join(self, deadline: Deadline) -> bool:
        """Wait for its end up to the deadline; return whether it ended."""
        self._thread.join(deadline.left())
        return not self._thread.is_alive()


def start_process(
    target: Callable[..., object],
    args: tuple[Any, ...],
    *,
    name: str,
    start_method: StartMethod,
    prepared_by: str | None = None,
) -> OwnedProcess:
    """Start a daemonic worker process that runs `target(*args)`.

    Args:
        target: what it runs.
        args: of that.
        name: of the process.
        start_method: how it starts.
        prepared_by: a module that is imported where it is forked from; a fork server, which imports
            such things once, goes by the first process that is started.

    Raises:
        ValueError: the start method is unknown.
        Exception: what pickling `target` or `args` raises (spawn, forkserver); nothing was started
            then.
    """
    if start_method not in START_METHODS:
        raise ValueError(f"start_method must be one of {START_METHODS}, got {start_method!r}")
    if start_method == "fork" and prepared_by is not None:
        importlib.import_module(prepared_by)
    elif start_method == "forkserver":
        _prepare_forkserver(prepared_by or target.__module__)
    context: Any = multiprocessing.get_context(start_method)
    # The parent-death signal follows the *thread* that forked: a thread that ends earlier must not
    # take the workers along. Under a fork server that thread is the server's only one.
    tied = start_method == "forkserver" or threading.current_thread() is threading.main_thread()
    process = context.Process(target=_run, args=(target, args, tied), name=name, daemon=True)
    # Until the child ignores SIGINT, a Ctrl-C meant for the owner must not end it half-made.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        _have_room_for_pipes()
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return OwnedProcess(process)


def _have_room_for_pipes() -> None:
    """Raise while nothing is lost: `start` opens two pipes, and forgets the first if the second fails.

    Raises:
        OSError: the process may not have four more descriptors.
    """
    taken: list[int] = []
    try:
        for _ in range(2):
            taken += os.pipe()
    finally:
        for fd in taken:
            os.close(fd)


def start_thread(target: Callable[..., object], args: tuple[Any, ...], *, name: str) -> OwnedThread:
    """Start a daemonic worker thread that runs `target(*args)`."""
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    thread.start()
    return OwnedThread(thread)


def _prepare_forkserver(module: str) -> None:
    global _forkserver_prepared
    if not _forkserver_prepared:
        _forkserver_prepared = True
        preload = [name for name in _PRELOAD if name in sys.modules]
        multiprocessing.set_forkserver_preload([*preload, module])


def _run(target: Callable[..., object], args: tuple[Any, ...], tied: bool) -> None:  # noqa: FBT001 - Process.args
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        if tied:
            _die_with_parent()
        start_thread(_end_with, (parent.sentinel,), name="owner-watch")
    target(*args)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)
