"""How many of how many cells were judged: by component, and by the kind of fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model.run import CellResult, RunRecord
from harness.model.verdict import Outcome
from harness.report.standing import backend_ids, counts, judged, scenario_name

NO_FAULT = "no fault"
NOT_KNOWN = "fault not known: no backend ran it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Cells of one backend: how many there are, how many were judged, and how those came out."""

    judged: int
    total: int
    outcomes: tuple[tuple[Outcome, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A line of the table: a tally for each backend."""

    name: str
    tallies: tuple[Tally, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """The lines of one component, and that of all of it."""

    component: str
    whole: Category
    faults: tuple[Category, ...]


def tally(cells: Sequence[CellResult]) -> Tally:
    """Add cells up; what was not judged is not among the outcomes."""
    found = counts(cells)
    found.pop(Outcome.UNSUPPORTED, None)
    return Tally(judged=judged(cells), total=len(cells), outcomes=tuple(found.items()))


def categories(record: RunRecord) -> tuple[Categories, ...]:
    """Each component with its kinds of fault; a cell with two kinds counts for both.

    A cell that was not run has no record of its faults: it counts for those that its scenario has
    on other backends or in other rows.
    """
    backends = backend_ids(record)
    kinds = _kinds(record.cells)
    found = []
    for component in dict.fromkeys(cell.component for cell in record.cells):
        mine = [cell for cell in record.cells if cell.component == component]
        names = sorted({kind for cell in mine for kind in kinds[_scenario(cell)]}, key=_order)
        found.append(
            Categories(
                component=component,
                whole=_category(component, mine, backends),
                faults=tuple(
                    _category(name, [c for c in mine if name in kinds[_scenario(c)]], backends)
                    for name in names
                ),
            )
        )
    return tuple(found)


def totals(record: RunRecord) -> tuple[Tally, ...]:
    """One tally for each column of the matrix."""
    return _category("", record.cells, backend_ids(record)).tallies


def _category(name: str, cells: Sequence[CellResult], backends: Iterable[str]) -> Category:
    return Category(
        name=name,
        tallies=tuple(tally([c for c in cells if c.backend == each]) for each in backends),
    )


def _kinds(cells: Iterable[CellResult]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The kinds of fault of each scenario, as far as any of its cells tells."""
    told: dict[tuple[str, str], set[str]] = {}
    ran: set[tuple[str, str]] = set()
    for cell in cells:
        told.setdefault(_scenario(cell), set()).update(fault.name for fault in cell.faults)
        if cell.outcome is not Outcome.UNSUPPORTED:
            ran.add(_scenario(cell))
    return {
        key: tuple(names) or ((NO_FAULT,) if key in ran else (NOT_KNOWN,))
        for key, names in told.items()
    }


def _scenario(cell: CellResult) -> tuple[str, str]:
    return cell.component, scenario_name(cell)


def _order(name: str) -> tuple[int, str]:
    return {NO_FAULT: 0, NOT_KNOWN: 2}.get(name, 1), name
