"""Which planted bugs each row catches, and the fewest, quickest rows that catch them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from harness.engine.components import COMPONENTS
from harness.model.run import CellResult
from harness.model.scenario import row_of
from harness.model.selftest import BugSeen, RowSeen

CELL_S = 0.1  # what a cell costs beside its own run: starting it, judging it


def is_clean(row: str) -> bool:
    """Whether a row is a clean run of its component."""
    component, _, rest = row.partition("/")
    return rest.partition("[")[0] == COMPONENTS[component].clean


def power_of(
    bugs: Sequence[BugSeen], cells: Iterable[CellResult], rows: Iterable[str]
) -> tuple[RowSeen, ...]:
    """Those of the rows that belong to the components of these bugs, in their order."""
    components = {row.partition("/")[0] for bug in bugs for row in bug.expected}
    seconds: dict[str, list[float]] = {
        row: [] for row in rows if row.partition("/")[0] in components
    }
    for cell in cells:
        if cell.directory is not None and row_of(cell.id) in seconds:
            seconds[row_of(cell.id)].append(cell.seconds)
    plain = {bug.name for bug in bugs if any(map(is_clean, bug.red))}
    catches: dict[str, list[str]] = {row: [] for row in seconds}
    for bug in bugs:
        for row in seconds.keys() & bug.red:
            catches[row].append(bug.name)
    return tuple(_row(row, took, tuple(catches[row]), plain) for row, took in seconds.items())


def _row(row: str, took: Sequence[float], catches: tuple[str, ...], plain: set[str]) -> RowSeen:
    return RowSeen(
        row=row,
        clean=is_clean(row),
        catches=catches,
        beyond=tuple(name for name in catches if name not in plain),
        seconds=round(median(took), 2) if took else None,
    )


def cover(rows: Sequence[RowSeen]) -> tuple[RowSeen, ...]:
    """The clean runs, and rows that with them catch whatever any row catches.

    Greedy, by new bugs a second; then without those that the others make superfluous. `catches` of
    each is cut down to what it adds.
    """
    chosen = [row for row in rows if row.clean and row.seconds is not None]
    left = _caught(rows) - _caught(chosen)
    while left:
        best = max(rows, key=lambda row: (_worth(row, left), row.row))
        chosen.append(best)
        left -= set(best.catches)
    for row in sorted(chosen, key=_cost, reverse=True):
        others = _caught(each for each in chosen if each is not row)
        if not row.clean and others.issuperset(row.catches):
            chosen.remove(row)
    return _shared_out(chosen)


def _caught(rows: Iterable[RowSeen]) -> set[str]:
    return {name for row in rows for name in row.catches}


def _worth(row: RowSeen, left: set[str]) -> float:
    return len(left.intersection(row.catches)) / _cost(row)


def _cost(row: RowSeen) -> float:
    return CELL_S + (row.seconds or 0.0)


def _shared_out(chosen: Sequence[RowSeen]) -> tuple[RowSeen, ...]:
    """Each bug stands beside the first row that catches it."""
    taken: set[str] = set()
    found = []
    for row in chosen:
        mine = tuple(name for name in row.catches if name not in taken)
        taken.update(mine)
        found.append(replace(row, catches=mine))
    return tuple(found)
