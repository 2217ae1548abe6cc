"""How much processor time the processes of a cell use while they have nothing to do.

The guardian measures it, so that nobody who is measured works for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.ports.clock import now_ns

SETTLE_S = 0.2  # how long whoever has just been called may take to come to rest


def processor_s(pid: int) -> float:
    """Processor time in s of a process, its ended threads included; 0 if there is no such process."""
    try:
        # What clock_getcpuclockid(3) gives on Linux: Python has it for threads only.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


@dataclass(eq=False, slots=True, kw_only=True)
class Meter:
    """One window in which processor time is measured; it begins `SETTLE_S` after it was made.

    Attributes:
        occasion: what happens meanwhile, for the record.
        for_s: how long from when it is made until it ends.
        pids: which processes there are.
        done: called with the record when it has ended.
        clock: in ns.
        used_s: what a process has used by now.
    """

    occasion: str
    for_s: float
    pids: Callable[[], list[int]]
    done: Callable[[dict[str, Any]], None]
    clock: Callable[[], int] = now_ns
    used_s: Callable[[int], float] = processor_s
    _begin_ns: int = 0
    _end_ns: int = 0
    _before: dict[int, float] | None = None

    def __post_init__(self) -> None:
        """It begins once everybody has come to rest."""
        made = self.clock()
        self._begin_ns = made + round(SETTLE_S * 1e9)
        self._end_ns = made + round(self.for_s * 1e9)

    @property
    def due_s(self) -> float:
        """In how many s it has something to do."""
        at_ns = min(self._begin_ns, self._end_ns) if self._before is None else self._end_ns
        return max(0.0, (at_ns - self.clock()) / 1e9)

    def look(self) -> bool:
        """Begin, go on, or end; whether it has ended."""
        now = self.clock()
        if now >= self._end_ns:
            self.done(self._record(now))
            return True
        if self._before is None and now >= self._begin_ns:
            self._begin_ns = now
            self._before = {pid: self.used_s(pid) for pid in self.pids()}
        return False

    def _record(self, now: int) -> dict[str, Any]:
        """What each process that is still there has used; whoever began meanwhile was not idle."""
        before = self._before or {}
        seconds = 0.0 if self._before is None else (now - self._begin_ns) / 1e9
        used = ((pid, self.used_s(pid) - before.get(pid, 0.0)) for pid in self.pids())
        return {
            "occasion": self.occasion,
            "seconds": round(seconds, 3),
            "processes": [{"pid": pid, "cpu_s": round(max(0.0, cpu_s), 6)} for pid, cpu_s in used],
        }
