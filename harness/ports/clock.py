"""The harness's own clock: the judge shares no bug with the judged."""

from __future__ import annotations

import time
from dataclasses import dataclass


def now_ns() -> int:
    """CLOCK_MONOTONIC in ns: comparable between the processes of one machine."""
    return time.monotonic_ns()


def pause(seconds: float) -> None:
    """Let other processes run for `seconds`; only for polling with a deadline."""
    time.sleep(seconds)


def calendar() -> str:
    """Local date and time, for names of runs only."""
    return time.strftime("%Y%m%d-%H%M%S")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time that nested waits share."""

    at_ns: int

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline that many seconds from now."""
        return cls(now_ns() + round(seconds * 1e9))

    @property
    def expired(self) -> bool:
        """Whether it has passed."""
        return now_ns() >= self.at_ns

    @property
    def left_s(self) -> float:
        """How long it is until then, in s; 0 once it has passed."""
        return max(0.0, (self.at_ns - now_ns()) / 1e9)
