"""The clock and the deadlines that every wait of the reference is given."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final, Protocol


class Clock(Protocol):
    """Anything that says how many seconds have passed since a fixed, unknown start."""

    def now(self) -> float:
        """Return the time in seconds; it never goes backwards."""
        ...


@dataclass(frozen=True, slots=True)
class MonotonicClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Return the monotonic time in seconds."""
        return time.monotonic()


MONOTONIC: Final[Clock] = MonotonicClock()


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by which a call must have ended, made once at the edge and passed down.

    Attributes:
        at: the moment in seconds of `clock`; None means never.
        clock: what `at` is measured with.
    """

    at: float | None
    clock: Clock = MONOTONIC

    @classmethod
    def after(cls, seconds: float | None, clock: Clock = MONOTONIC) -> Deadline:
        """Return the deadline `seconds` from now; None means never.

        Raises:
            ValueError: `seconds` is negative or not a number.
        """
        if seconds is None:
            return cls(None, clock)
        if not seconds >= 0:
            raise ValueError(f"seconds must be non-negative or None, got {seconds!r}")
        return cls(clock.now() + seconds, clock)

    def left(self) -> float | None:
        """Return the seconds that are left, never negative; None means that it never comes."""
        return None if self.at is None else max(0.0, self.at - self.clock.now())

    @property
    def expired(self) -> bool:
        """Whether the moment has come."""
        return self.at is not None and self.clock.now() >= self.at

    def pause(self, seconds: float) -> None:
        """Sleep so long, at most until the moment: for what gives no sign that could be waited for."""
        left = self.left()
        time.sleep(seconds if left is None else min(seconds, left))

    def sooner(self, other: Deadline) -> Deadline:
        """Return whichever of the two comes first; both must be measured with one clock."""
        if self.at is None:
            return other
        if other.at is None:
            return self
        return self if self.at <= other.at else other

    def later(self, other: Deadline) -> Deadline:
        """Return whichever of the two comes last; both must be measured with one clock."""
        return other if self.sooner(other) is self else self


NEVER: Final = Deadline(None)
