"""Proves the judges: every planted bug has to be caught, by its checker, in each of its rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from harness.checkers._shared import HOLDING_FAULTS
from harness.engine.loader import resolve
from harness.engine.power import cover, is_clean, power_of
from harness.engine.supervisor import Job
from harness.engine.usage import UsageError
from harness.model.planted import PlantedBug
from harness.model.run import CellResult, RunRecord
from harness.model.scenario import row_of
from harness.model.selftest import BugSeen, Selftest
from harness.model.verdict import FAILURES, Contract, Outcome

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


def order(
    bugs: Sequence[PlantedBug], seed: int, *, everything: bool
) -> Callable[[list[Job]], list[Job]]:
    """Orders cells so that a budget is spent on what tells most, or takes only what has to be run.

    First what is declared to be red, and the clean runs: they decide whether a bug is caught and
    what power a row has. Of everything, then rows that nobody waits in, then the others, drawn: with
    another seed, what is left out by the budget is something else. What is declared need not be
    confirmed.
    """
    declared = {(bug.backend, row) for bug in bugs for row in bug.rows}
    draw = random.Random(seed)

    def rank(job: Job) -> tuple[int, float]:
        if not job.confirm:
            return 0, 0.0
        if is_clean(row_of(job.blank.id)):
            return 1, 0.0
        # Somebody waits for seconds in these rows: they come last.
        held = any(fault.fault in HOLDING_FAULTS for fault in job.request.faults())
        return (3, draw.random()) if held else (2, 0.0)

    def ordered(jobs: list[Job]) -> list[Job]:
        for job in jobs:
            job.confirm = (job.request.adapter, row_of(job.blank.id)) not in declared
        ranked = sorted(((rank(job), job) for job in jobs), key=lambda each: each[0])
        return [job for (first, _), job in ranked if everything or first <= 1]

    return ordered


def account(bugs: Sequence[PlantedBug], record: RunRecord, rows: Sequence[str]) -> Selftest:
    """What a run over the planted bugs shows.

    Args:
        bugs: which.
        record: of the run.
        rows: every row that there is, whether it was run or not.
    """
    ids = {info.name: info.id for info in record.backends}
    seen = tuple(_seen(bug, record.cells, ids[bug.backend]) for bug in bugs)
    return Selftest(bugs=seen, rows=power_of(seen, record.cells, rows))


def _seen(bug: PlantedBug, cells: Sequence[CellResult], backend: str) -> BugSeen:
    mine = [cell for cell in cells if cell.backend == backend]
    found = {row_of(cell.id): _checkers(cell) for cell in mine if cell.outcome in FAILURES}
    missed = {row for row in bug.rows if bug.caught_by not in found.get(row, ())}
    return BugSeen(
        name=bug.name,
        text=bug.text,
        caught_by=bug.caught_by,
        right=bool(bug.rows) and not missed,
        red=tuple(sorted(found)),
        expected=tuple(sorted(bug.rows)),
        hidden=tuple(sorted(missed & set(found))),
        checkers=tuple(sorted(set().union(*found.values()))),
        untried=sum(_not_run(cell) for cell in mine),
    )


def _not_run(cell: CellResult) -> bool:
    return cell.directory is None and cell.outcome is not Outcome.UNSUPPORTED


def _checkers(cell: CellResult) -> set[str]:
    return {f.checker for f in cell.findings if f.contract is not Contract.OPINION}


def table(seen: Selftest) -> str:
    """Who caught what, and where that differs from what was declared; then the power of rows."""
    lines = [line for bug in seen.bugs for line in _account(bug)]
    right = sum(bug.right for bug in seen.bugs)
    lines.append(f"{right} of {len(seen.bugs)} planted bugs are caught as declared")
    untried = sum(bug.untried for bug in seen.bugs)
    if untried:
        lines.append(
            f"{untried} cells, none of them declared to be red, were left out by the budget"
        )
    for component, (n, m) in seen.power().items():
        lines.append(
            f"{component}: {n} of {m} rows have power: they catch what no clean run catches"
        )
    chosen = cover(seen.rows)
    seconds = sum(row.seconds or 0.0 for row in chosen)
    lines.append(f"smoke selection: {len(chosen)} rows, {seconds:.1f} s a backend")
    return "\n".join(lines)


def _account(bug: BugSeen) -> Iterator[str]:
    others = ", ".join(name for name in bug.checkers if name != bug.caught_by)
    also = f", also by {others}" if others else ""
    mark = "caught" if bug.right else "WRONG "
    yield f"{mark} {bug.name}: by {bug.caught_by} in {len(bug.red)} rows{also}"
    yield from (f"  {difference}" for difference in bug.differences())
