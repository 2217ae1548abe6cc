"""Scales of the drawings: time in which waits are shortened, and durations by powers of ten."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

SHORTENING = 0.35  # a wait that is a thousand times as long is drawn eleven times as wide
TICKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark on an axis."""

    x: float
    label: str


class TimeScale:
    """Maps times to positions; the order stays, and no wait pushes the rest together.

    Args:
        times_ns: every time that matters, in any order; at least one.
        left: position of the earliest.
        width: positions up to the latest.
    """

    def __init__(self, times_ns: Iterable[int], left: float, width: float) -> None:
        self._times = sorted(set(times_ns))
        steps = [(b - a) ** SHORTENING for a, b in zip(self._times, self._times[1:], strict=False)]
        total = sum(steps) or 1.0
        self._positions = [left]
        for step in steps:
            self._positions.append(self._positions[-1] + width * step / total)

    @property
    def end_ns(self) -> int:
        """The latest time."""
        return self._times[-1]

    def x(self, at_ns: int) -> float:
        """The position of a time; one beyond the ends is at the end."""
        i = bisect_right(self._times, at_ns) - 1
        if i < 0:
            return self._positions[0]
        if i + 1 >= len(self._times):
            return self._positions[-1]
        share = (at_ns - self._times[i]) / (self._times[i + 1] - self._times[i])
        return self._positions[i] + share * (self._positions[i + 1] - self._positions[i])

    def ticks(self) -> tuple[Tick, ...]:
        """Evenly spaced positions with the time that each stands for, since the earliest."""
        first, last = self._positions[0], self._positions[-1]
        if last <= first:
            return (Tick(x=first, label="0"),)
        places = [first + (last - first) * i / TICKS for i in range(TICKS + 1)]
        return tuple(Tick(x=x, label=seconds((self._at(x) - self._times[0]) / 1e9)) for x in places)

    def _at(self, x: float) -> float:
        i = min(bisect_right(self._positions, x) - 1, len(self._times) - 2)
        share = (x - self._positions[i]) / (self._positions[i + 1] - self._positions[i])
        return self._times[i] + share * (self._times[i + 1] - self._times[i])


class DurationScale:
    """Maps durations to positions by powers of ten, from `least_s` up.

    Args:
        least_s, most_s: the ends.
        left: position of the least.
        width: positions up to the most.
    """

    def __init__(self, least_s: float, most_s: float, left: float, width: float) -> None:
        self._least = math.log10(least_s)
        self._most = max(math.log10(most_s), self._least + 1)
        self._left, self._width = left, width

    def x(self, duration_s: float) -> float:
        """The position of a duration; one beyond the ends is at the end."""
        value = math.log10(max(duration_s, 1e-9))
        value = min(max(value, self._least), self._most)
        return self._left + self._width * (value - self._least) / (self._most - self._least)

    def ticks(self) -> tuple[Tick, ...]:
        """The powers of ten."""
        powers = range(math.ceil(self._least), math.floor(self._most) + 1)
        return tuple(Tick(x=self.x(10.0**power), label=seconds(10.0**power)) for power in powers)


def seconds(value: float) -> str:
    """A duration in the unit that suits it."""
    if value == 0:
        return "0"
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"
