"""How cells add up, and what their outcomes mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harness.model.run import CellResult, RunRecord
from harness.model.standing import DIFFERS, Standing, standing
from harness.model.verdict import Outcome

NOT_JUDGED = frozenset({Outcome.UNSUPPORTED, Outcome.HARNESS_ERROR})
QUIET = frozenset({Outcome.PASS, Outcome.UNSUPPORTED})  # what needs no word of its own in a list

MEANING: Mapping[Outcome, str] = {
    Outcome.PASS: "every checker that applies looked and found nothing wrong",
    Outcome.FAIL: "something was wrong that is neither a leak nor an opinion",
    Outcome.HANG: "a call was still open after its deadline and grace",
    Outcome.CRASH: "the driver's process died unasked",
    Outcome.LEAK: "something was left behind",
    Outcome.VACUOUS: "a fault did not fire or had no effect, so nothing was shown",
    Outcome.UNKNOWN: "no evidence either way",
    Outcome.UNSUPPORTED: "the backend does not declare what the row needs, or this machine lacks it",
    Outcome.HARNESS_ERROR: "the harness itself failed here",
}


def differing(cells: Iterable[CellResult]) -> dict[Standing, list[CellResult]]:
    """The cells that are not as expected, the most urgent standing first."""
    order = (Standing.HARNESS, Standing.WORSE, Standing.INCONCLUSIVE, Standing.BETTER)
    found: dict[Standing, list[CellResult]] = {each: [] for each in order}
    for cell in cells:
        if (where := standing(cell)) in DIFFERS:
            found[where].append(cell)
    return {where: cells for where, cells in found.items() if cells}


def counts(cells: Iterable[CellResult]) -> dict[Outcome, int]:
    """How many cells have each outcome, best first, without the outcomes that no cell has."""
    found = Counter(cell.outcome for cell in cells)
    return {outcome: found[outcome] for outcome in reversed(Outcome) if found[outcome]}


def judged(cells: Iterable[CellResult]) -> int:
    """How many cells were judged at all: UNSUPPORTED and HARNESS-ERROR are not."""
    return sum(cell.outcome not in NOT_JUDGED for cell in cells)


def repeats(cell: CellResult) -> str | None:
    """`3 of 5`: how many of the repeats had the outcome that counts; None without repeats."""
    total = cell.runs.get("n", 0)
    return f"{cell.runs.get(cell.outcome, 0)} of {total}" if total > 1 else None


def backend_ids(record: RunRecord) -> list[str]:
    """The columns: the backends of the run, then any that only cells name."""
    named = [backend.id for backend in record.backends]
    return list(dict.fromkeys([*named, *(cell.backend for cell in record.cells)]))


def row_name(cell: CellResult) -> str:
    """The cell's id without its backend: `component/scenario[row]`."""
    return cell.id.removesuffix(f"@{cell.backend}")


def scenario_name(cell: CellResult) -> str:
    """The scenario's name, as it stands in the cell's id."""
    return row_name(cell).removeprefix(f"{cell.component}/").removesuffix(f"[{cell.row}]")
