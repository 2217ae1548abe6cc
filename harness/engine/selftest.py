"""Proves the judges: every planted bug has to be caught, by its checker, in exactly its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.engine.loader import resolve
from harness.engine.usage import UsageError
from harness.model.planted import Caught, PlantedBug
from harness.model.run import CellResult, RunRecord
from harness.model.verdict import FAILURES, Contract

CATALOGUE = "harness.planted.catalogue:PLANTED"


def planted(names: Sequence[str] = ()) -> tuple[PlantedBug, ...]:
    """The planted bugs with these names, or all.

    Raises:
        UsageError: there is no such bug.
    """
    every: tuple[PlantedBug, ...] = resolve(CATALOGUE)
    unknown = set(names) - {bug.name for bug in every}
    if unknown:
        known = ", ".join(bug.name for bug in every)
        raise UsageError("NAMES", min(unknown), f"no such planted bug, there are {known}")
    return tuple(bug for bug in every if not names or bug.name in names)


def account(bugs: Sequence[PlantedBug], record: RunRecord) -> tuple[Caught, ...]:
    """What a run over the planted bugs shows."""
    ids = {info.name: info.id for info in record.backends}
    return tuple(_caught(bug, record.cells, ids[bug.backend]) for bug in bugs)


def _caught(bug: PlantedBug, cells: Sequence[CellResult], backend: str) -> Caught:
    red = [cell for cell in cells if cell.backend == backend and cell.outcome in FAILURES]
    found = {cell.id.rpartition("@")[0]: _checkers(cell) for cell in red}
    return Caught(
        bug=bug,
        red=frozenset(found),
        checkers=tuple(sorted(set().union(*found.values()))),
        hidden=frozenset(row for row in bug.rows if bug.caught_by not in found.get(row, ())),
    )


def _checkers(cell: CellResult) -> set[str]:
    return {f.checker for f in cell.findings if f.contract is not Contract.OPINION}


def as_plain(caught: Sequence[Caught]) -> dict[str, Any]:
    """For the run's record."""
    return {
        each.bug.name: {
            "caught_by": each.bug.caught_by,
            "right": each.right,
            "red": sorted(each.red),
            "expected": sorted(each.bug.rows),
            "checkers": list(each.checkers),
        }
        for each in caught
    }


def table(caught: Sequence[Caught]) -> str:
    """Who caught what, and where that differs from what was declared."""
    lines = []
    for each in caught:
        mark = "caught" if each.right else "WRONG "
        others = ", ".join(name for name in each.checkers if name != each.bug.caught_by)
        also = f", also by {others}" if others else ""
        lines.append(
            f"{mark} {each.bug.name}: by {each.bug.caught_by} in {len(each.red)} rows{also}"
        )
        differences = {
            "not red": each.bug.rows - each.red,
            "red, but not declared": each.red - each.bug.rows,
            f"red, but not by {each.bug.caught_by}": each.hidden & each.red,
        }
        lines += [f"  {what}: {row}" for what, rows in differences.items() for row in sorted(rows)]
    right = sum(each.right for each in caught)
    return "\n".join([*lines, f"{right} of {len(caught)} planted bugs are caught as declared"])
