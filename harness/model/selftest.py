"""What a selftest saw: of each planted bug who caught it, of each row which bugs it catches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BugSeen:
    """One planted bug.

    Attributes:
        name: of the bug.
        text: what is wrong, one sentence.
        caught_by: the checker that must catch it.
        right: that checker was among those that found every declared row red; it may be red in others too.
        red: the rows that were red.
        expected: the rows that were declared to be.
        hidden: the rows in which that checker found nothing, though they were red.
        checkers: whose findings, opinions aside, made them red.
        untried: how many rows there was no time for.
    """

    name: str
    text: str
    caught_by: str
    right: bool
    red: tuple[str, ...]
    expected: tuple[str, ...]
    hidden: tuple[str, ...]
    checkers: tuple[str, ...]
    untried: int = 0

    def differences(self) -> tuple[str, ...]:
        """Where what was seen differs from what was declared, a sentence each."""
        kinds = {
            "not red": set(self.expected) - set(self.red),
            f"red, but not by {self.caught_by}": set(self.hidden),
        }
        return tuple(f"{what}: {row}" for what, rows in kinds.items() for row in sorted(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSeen:
    """One row of a scenario.

    Attributes:
        row: its id, without a backend.
        clean: it is the clean run of its component, which others are measured by.
        catches: the planted bugs that turn it red.
        beyond: those of them that no clean run of its component catches: its power.
        seconds: what it takes, the median over variants; None if it ran on none of them.
    """

    row: str
    clean: bool
    catches: tuple[str, ...]
    beyond: tuple[str, ...]
    seconds: float | None

    @property
    def component(self) -> str:
        """Its port."""
        return self.row.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selftest:
    """What the record of a run holds of it."""

    bugs: tuple[BugSeen, ...]
    rows: tuple[RowSeen, ...]

    @property
    def right(self) -> bool:
        """Whether every bug is caught as declared."""
        return all(bug.right for bug in self.bugs)

    def power(self) -> dict[str, tuple[int, int]]:
        """By component, how many rows have power, and of how many; clean runs do not count."""
        return {name: _power(self.rows, name) for name in _components(self.rows)}


def _components(rows: Iterable[RowSeen]) -> list[str]:
    return list(dict.fromkeys(row.component for row in rows))


def _power(rows: Iterable[RowSeen], component: str) -> tuple[int, int]:
    mine = [row for row in rows if row.component == component and not row.clean]
    return sum(bool(row.beyond) for row in mine), len(mine)
