"""Looks at a cell from outside: which processes it has, what they do, and where they are."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.engine import census
from harness.model.history import Hang
from harness.ports.clock import Deadline, now_ns, pause

SAMPLE_S = 0.5  # over how long processor time is measured
SPINNING = (
    0.5  # share of that time, running or waiting for a processor, that makes a spinning process
)
DUMP_S = 5.0  # how long one stack dump may take
DUMPS_S = 15.0  # how long all of a cell's may take: other cells wait meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One process of a hung cell."""

    pid: int
    command: str
    state: str
    busy: float
    hang: Hang


def look(pids: Sequence[int]) -> list[Seen]:
    """Sample processes for `SAMPLE_S` and tell frozen, spinning and blocked apart."""
    before = {pid: _busy_ns(pid) for pid in pids}
    start = now_ns()
    pause(SAMPLE_S)
    seen = []
    for pid in pids:
        state = census.state(pid)
        if not state:
            continue
        busy = (_busy_ns(pid) - before[pid]) / (now_ns() - start)
        seen.append(
            Seen(
                pid=pid,
                command=census.command(pid),
                state=state,
                busy=busy,
                hang="frozen" if state in "Tt" else "spinning" if busy >= SPINNING else "blocked",
            )
        )
    return seen


def verdict(seen: Iterable[Seen]) -> Hang:
    """How the cell hangs: by its first process, the driver, that does not merely wait."""
    kinds = [each.hang for each in seen]
    return next((kind for kind in kinds if kind != "blocked"), "blocked")


def _busy_ns(pid: int) -> int:
    """Time that the process's threads ran or waited for a processor; 0 where that is not known."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            ran, waited, _ = path.read_text().split()
        except (OSError, ValueError):
            continue  # the thread has just ended
        total += int(ran) + int(waited)
    return total


def dumps(seen: Sequence[Seen]) -> dict[int, str]:
    """The Python stacks of processes by pid, as far as this machine lets us see them in `DUMPS_S`."""
    found: dict[int, str] = {}
    deadline = Deadline.after(DUMPS_S)
    for each in seen:
        if deadline.expired:
            break
        found[each.pid] = _stack(each.pid)
    return found


def stacks(seen: Sequence[Seen], found: Mapping[int, str]) -> str:
    """All of them as one text, each under what was seen of its process."""
    parts: list[str] = []
    for each in seen:
        if each.pid not in found:
            parts.append(f"... and {len(seen) - len(parts)} more processes")
            break
        title = f"== pid {each.pid} {each.hang} (state {each.state}, {each.busy:.0%} busy) {each.command}"
        parts.append(f"{title}\n{found[each.pid]}")
    return "\n".join(parts)


def _stack(pid: int) -> str:
    tool = py_spy()
    if tool is None:
        return _ask_faulthandler(pid)
    command = [tool, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DUMP_S, check=False)
    except subprocess.TimeoutExpired:
        return "py-spy did not come back"
    return done.stdout if done.returncode == 0 else f"py-spy: {done.stderr.strip()[:300]}"


def py_spy() -> str | None:
    """Where py-spy is, beside this interpreter or on the path."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def _ask_faulthandler(pid: int) -> str:
    """Have the process print its stacks itself, if it catches our signal; else that would end it."""
    bit = 1 << (signal.SIGUSR1 - 1)
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
        if int(caught.split()[1], 16) & bit:
            os.kill(pid, signal.SIGUSR1)
            return "no py-spy here; faulthandler's stacks are in the cell's stderr"
    except (OSError, StopIteration, ValueError):
        return "gone"
    return "no py-spy here, and the process does not dump its own stacks"
