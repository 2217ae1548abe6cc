"""What a self-test shows: who caught each planted bug, and which rows have the power to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.selftest import BugSeen, RowSeen, Selftest
from harness.report.matrix import Entry

UNTRIED = "no variant runs it"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedRow:
    """A row that a bug turned red, with the page of its cell if it is shown."""

    row: str
    page: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BugLine:
    """A planted bug; `wrong` says where what was seen differs from what was declared."""

    bug: BugSeen
    red: tuple[RedRow, ...]
    also: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Both tables; rows with the most power come first, then those without.

    Attributes:
        bugs: a line for each planted bug.
        rows: those of the table.
        power: by component, how many rows have power, of how many.
    """

    bugs: tuple[BugLine, ...]
    rows: tuple[RowSeen, ...]
    power: tuple[tuple[str, int, int], ...]


def shown(selftest: Selftest, found: Iterable[Entry]) -> Shown:
    """Join what was seen with the cells that the report shows."""
    pages = {
        (entry.cell.backend.rpartition("-")[0], entry.cell.id.rpartition("@")[0]): entry.page
        for entry in found
    }
    return Shown(
        bugs=tuple(_line(bug, pages) for bug in selftest.bugs),
        rows=ranked(selftest.rows),
        power=tuple((name, n, m) for name, (n, m) in selftest.power().items()),
    )


def ranked(rows: Iterable[RowSeen]) -> tuple[RowSeen, ...]:
    """By component, the most power first, then the clean runs, then rows without any."""
    return tuple(
        sorted(rows, key=lambda row: (row.component, -len(row.beyond), not row.clean, row.row))
    )


def power_word(row: RowSeen) -> str:
    """Its power, or why it has none."""
    if row.clean:
        return "clean run"
    if row.beyond:
        return str(len(row.beyond))
    return "none" if row.seconds is not None else f"none: {UNTRIED}"


def _line(bug: BugSeen, pages: dict[tuple[str, str], str | None]) -> BugLine:
    return BugLine(
        bug=bug,
        red=tuple(RedRow(row=row, page=pages.get((bug.name, row))) for row in bug.red),
        also=tuple(name for name in bug.checkers if name != bug.caught_by),
        wrong=bug.differences(),
    )
