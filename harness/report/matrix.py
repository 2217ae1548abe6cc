"""The matrix: scenario rows x backends, grouped by component, and one line for each backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.model.run import BackendInfo, CellResult, RunRecord
from harness.model.scenario import slug
from harness.model.standing import DIFFERS, Standing, standing
from harness.model.verdict import Outcome
from harness.report.standing import QUIET, backend_ids, counts, judged, repeats, scenario_name
from harness.report.text import compact, one_line

PAGES = "pages"
REASON_MAX = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A cell as the matrix and the lists show it.

    Attributes:
        page: where all that is known of it is shown, relative to the run's directory; None: it was
            not run, and its reason says all.
    """

    cell: CellResult
    page: str | None
    standing: Standing
    differs: bool
    repeats: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a scenario: for each backend its cells, usually one or none."""

    key: str
    columns: tuple[tuple[Entry, ...], ...]
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRows:
    """The rows of one scenario."""

    name: str
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The scenarios of one component."""

    component: str
    scenarios: tuple[ScenarioRows, ...]
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a backend's bar, in percent."""

    outcome: Outcome
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A backend: what it is and how its cells add up."""

    id: str
    python: str
    versions: str
    properties: str
    judged: int
    total: int
    segments: tuple[Segment, ...]
    remarks: tuple[tuple[Standing, int], ...]


def entries(record: RunRecord) -> tuple[Entry, ...]:
    """Every cell that is shown, with a page of its own, in the order of the record."""
    taken: set[str] = set()
    return tuple(
        _entry(cell, taken) for cell in record.cells if record.selftest is None or tells(cell)
    )


def tells(cell: CellResult) -> bool:
    """Whether a cell of a self-test is worth a place in the report: most pass, as they must."""
    return cell.outcome not in QUIET and cell.directory is not None


def groups(found: Sequence[Entry], backends: Sequence[str]) -> tuple[Group, ...]:
    """The rows of the matrix by component and scenario, each in order of appearance."""
    tree: dict[str, dict[str, dict[str, list[Entry]]]] = {}
    for entry in found:
        cell = entry.cell
        scenarios = tree.setdefault(cell.component, {})
        scenarios.setdefault(scenario_name(cell), {}).setdefault(cell.row, []).append(entry)
    return tuple(
        Group(
            component=component,
            scenarios=tuple(_scenario(name, rows, backends) for name, rows in scenarios.items()),
            cells=sum(len(cells) for rows in scenarios.values() for cells in rows.values()),
        )
        for component, scenarios in tree.items()
    )


def columns(record: RunRecord) -> tuple[Column, ...]:
    """One line a backend."""
    known = {backend.id: backend for backend in record.backends}
    return tuple(_column(name, known.get(name), record.cells) for name in backend_ids(record))


def _entry(cell: CellResult, taken: set[str]) -> Entry:
    where = standing(cell)
    return Entry(
        cell=cell,
        page=None if cell.outcome is Outcome.UNSUPPORTED else _page(cell, taken),
        standing=where,
        differs=where in DIFFERS,
        repeats=repeats(cell),
        reason=one_line(cell.reason, REASON_MAX),
    )


def _page(cell: CellResult, taken: set[str]) -> str:
    """Called like the cell's directory; of two cells with one id each has its own."""
    base = slug(cell.id)
    name, copy = base, 1
    while name in taken:
        copy += 1
        name = f"{base}~{copy}"
    taken.add(name)
    return f"{PAGES}/{name}.html"


def _scenario(
    name: str, rows: Mapping[str, Sequence[Entry]], backends: Sequence[str]
) -> ScenarioRows:
    first = next(iter(rows.values()))[0]
    return ScenarioRows(
        name=name,
        title=one_line(first.cell.title),
        rows=tuple(_row(key, found, backends) for key, found in rows.items()),
    )


def _row(key: str, found: Sequence[Entry], backends: Sequence[str]) -> Row:
    return Row(
        key=key,
        columns=tuple(
            tuple(entry for entry in found if entry.cell.backend == backend) for backend in backends
        ),
        differs=any(entry.differs for entry in found),
    )


def _column(name: str, backend: BackendInfo | None, cells: Sequence[CellResult]) -> Column:
    mine = [cell for cell in cells if cell.backend == name]
    return Column(
        id=name,
        python="" if backend is None else one_line(backend.python),
        versions="" if backend is None else _named(backend.versions),
        properties="" if backend is None else _named(backend.properties),
        judged=judged(mine),
        total=len(mine),
        segments=_segments(mine),
        remarks=_remarks(mine),
    )


def _remarks(cells: Sequence[CellResult]) -> tuple[tuple[Standing, int], ...]:
    """How many cells have each standing that is worth a word, the most urgent first."""
    found = Counter(standing(cell) for cell in cells)
    worth = [where for where in reversed(Standing) if where is not Standing.EXPECTED]
    return tuple((where, found[where]) for where in worth if found[where])


def _segments(cells: Sequence[CellResult]) -> tuple[Segment, ...]:
    done = 0
    found = []
    for outcome, count in counts(cells).items():
        start, width = 100 * done / len(cells), 100 * count / len(cells)
        found.append(Segment(outcome=outcome, count=count, start=start, width=width))
        done += count
    return tuple(found)


def _named(values: Mapping[str, object]) -> str:
    return ", ".join(f"{one_line(key, 60)} {compact(value, 80)}" for key, value in values.items())
