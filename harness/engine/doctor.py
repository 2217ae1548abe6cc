"""What this machine lets the harness see and do."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from harness.engine import linux, timescale, watchdog


def report() -> str:
    """One line a capability: what there is, and what follows where it is missing."""
    spy = watchdog.py_spy()
    lines = [
        ("system", f"{platform.platform()}, Python {sys.version.split()[0]}", ""),
        ("cores", f"{_cores()}", ""),
        ("time scale", f"{timescale.measure():g}", "deadlines are multiplied by it"),
        (
            "stacks",
            spy or "no py-spy",
            "" if spy else "stacks of hung cells come from faulthandler",
        ),
        ("looking at processes", _ptrace(), ""),
        (
            "orphans",
            _child(linux.become_subreaper),
            "without: nobody ends what a cell leaves behind",
        ),
        (
            "own /dev/shm",
            _child(linux.private_shared_memory),
            "without: names there are not judged",
        ),
        ("spinning or blocked", _schedstat(), "without: a spinning process looks blocked"),
        ("/dev/shm", _free(Path("/dev/shm")), ""),
        ("open files", _open_files(), ""),
    ]
    width = max(len(name) for name, _, _ in lines)
    return "\n".join(
        f"{name:<{width}}  {found}{f'  ({note})' if note else ''}" for name, found, note in lines
    )


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def allowed(capability: Callable[[], bool]) -> bool:
    """Try it in a child, so that this process stays as it is."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if capability() else 1)
    _, status = os.waitpid(pid, 0)
    return status == 0


def _child(capability: Callable[[], bool]) -> str:
    return "yes" if allowed(capability) else "no"


def _ptrace() -> str:
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if os.geteuid() == 0:
        return "as root"
    if not scope.exists() or scope.read_text().strip() == "0":
        return "of the same user"
    return "children only: py-spy may be refused"


def _schedstat() -> str:
    return "yes" if Path("/proc/self/schedstat").exists() else "no"


def _free(path: Path) -> str:
    if not path.exists():
        return "missing"
    return f"{shutil.disk_usage(path).free >> 20} MiB free"


def _open_files() -> str:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"{soft} (up to {hard})"
