"""Stops a child for certain: a signal that was sent is not yet one that has struck."""

from __future__ import annotations

import os
import signal


def stop(pid: int) -> None:
    """Stop a child process, and return once the kernel says that it is stopped."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
