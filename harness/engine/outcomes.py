"""From the runs of a cell to its one result: confirmation, and the worst that counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.engine.judging import judge_directory
from harness.model.run import CellResult, Confirmation
from harness.model.standing import unlisted
from harness.model.verdict import FAILURES, Contract, Finding, Outcome, Verdict, worst

CONFIRMS = "confirms.json"  # in the directory of a run that was done to confirm another
CUT_SHORT = "cut_short.json"  # in that of a run that an interrupt ended
DOUBTED = "doubted.json"  # in that of a run that should have been confirmed, and was not


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished run of a cell; `alone` is the one that was done to confirm it."""

    verdict: Verdict
    directory: Path
    seconds: float
    alone: Run | None = None


def suspicious(verdict: Verdict) -> bool:
    """Whether all that is wrong may be the machine's fault, because it is only about time."""
    return verdict.only_time or verdict.outcome is Outcome.HANG


def confirmed(suspect: Run, alone: Run) -> Run:
    """The worse of the two if the run alone is red for time again, or worse.

    Else what they show beside time, of leaks, for example, or that the harness failed; else nobody knows.
    """
    suspect, again = replace(suspect, alone=alone), replace(alone, alone=alone)
    red = (Outcome.CRASH, Outcome.HANG, Outcome.FAIL, suspect.verdict.outcome)
    if alone.verdict.outcome in red:
        return min(suspect, again, key=_badness)
    doubt = doubted(suspect, f"time, 1 of 2: {suspect.verdict.reason}")
    stands = alone.verdict.outcome in (Outcome.HARNESS_ERROR, Outcome.LEAK)
    return again if stands and _badness(again) < _badness(doubt) else doubt


def _badness(run: Run) -> tuple[int, bool]:
    """What orders runs, the worse first; of two with one outcome that which may not be the machine's fault."""
    return run.verdict.outcome.precedence, suspicious(run.verdict)


def doubted(suspect: Run, reason: str) -> Run:
    """The suspect run as one that says nothing of time: all that stands is what it found wrong beside."""
    verdict = suspect.verdict
    kept = tuple(f for f in verdict.findings if not f.time)
    red = [f for f in kept if f.contract is not Contract.OPINION]
    hard = [f for f in red if not f.leak]
    if hard:
        outcome = Outcome.FAIL
    elif red and verdict.outcome is not Outcome.HANG:  # of which leaks may be a consequence
        outcome = Outcome.LEAK
    else:
        return replace(suspect, verdict=replace(verdict, outcome=Outcome.UNKNOWN, reason=reason))
    first = (hard or red)[0]
    reason = f"{first.checker}: {first.text} ({reason})"
    return replace(
        suspect, verdict=replace(verdict, outcome=outcome, reason=reason, findings=kept, hang=None)
    )


def unconfirmed(suspect: Run) -> Run:
    """The suspect run as one that no other could confirm; its directory says so, to be judged again."""
    reason = f"time, not confirmed: {suspect.verdict.reason}"
    (suspect.directory / DOUBTED).write_text(json.dumps(reason), encoding="utf-8")
    return doubted(suspect, reason)


def mark_confirmation(directory: Path, suspect: Path) -> None:
    """Leave word that the run in `directory` confirms another, so that both can be judged again."""
    (directory / CONFIRMS).write_text(json.dumps(suspect.name), encoding="utf-8")


def mark_cut_short(directory: Path) -> None:
    """Leave word that an interrupt ended the run in `directory`: nothing can be said of it, later neither."""
    (directory / CUT_SHORT).write_text("{}", encoding="utf-8")


def summed_up(blank: CellResult, runs: Sequence[Run], root: Path) -> CellResult:
    """The worst run's account, with how often each outcome came; of equals, that which the list does not know."""
    outcome = worst(run.verdict.outcome for run in runs)
    equals = [each for each in runs if each.verdict.outcome is outcome]
    others = [unlisted(each.verdict.findings, blank.expected_checkers) for each in equals]
    run, beside = next(
        (pair for pair in zip(equals, others, strict=True) if pair[1]), (equals[0], ())
    )
    counts = Counter(each.verdict.outcome.value for each in runs)
    return replace(
        blank,
        outcome=outcome,
        reason=_reason(run.verdict, beside),
        hang=run.verdict.hang,
        runs={"n": len(runs), **counts},
        findings=run.verdict.findings,
        checkers=run.verdict.checkers,
        faults=run.verdict.faults,
        seconds=run.seconds,
        directory=run.directory.relative_to(root).as_posix(),
        confirmation=None if run.alone is None else _confirmation(run.alone, root),
    )


def _reason(verdict: Verdict, beside: Sequence[Finding]) -> str:
    """Why that outcome; where only a part of it is listed, the rest."""
    if not beside or verdict.outcome not in FAILURES:
        return verdict.reason
    more = f" (and {len(beside) - 1} more)" if len(beside) > 1 else ""
    return f"beside what is listed, {beside[0].checker}: {beside[0].text}{more}"


def _confirmation(alone: Run, root: Path) -> Confirmation:
    return Confirmation(
        outcome=alone.verdict.outcome,
        reason=alone.verdict.reason,
        seconds=alone.seconds,
        directory=alone.directory.relative_to(root).as_posix(),
    )


def judged_again(cell: CellResult, root: Path) -> CellResult:
    """Judge every run of a cell anew, from its journals."""
    if cell.directory is None:
        return cell
    directories = sorted(
        (
            each
            for each in (root / cell.directory).parent.iterdir()
            if each.name.isdecimal() and not (each / CUT_SHORT).exists()
        ),
        key=lambda each: int(each.name),
    )
    runs = {
        each.name: Run(verdict=judge_directory(each), directory=each, seconds=cell.seconds)
        for each in directories
    }
    for each in directories:
        if (each / CONFIRMS).exists():
            suspect = json.loads((each / CONFIRMS).read_text(encoding="utf-8"))
            alone = runs.pop(each.name)
            if cell.confirmation is not None:
                alone = replace(alone, seconds=cell.confirmation.seconds)
            if suspicious(runs[suspect].verdict):  # judges of today may not say so any more
                runs[suspect] = confirmed(runs[suspect], alone)
        if (each / DOUBTED).exists() and suspicious(runs[each.name].verdict):
            reason = json.loads((each / DOUBTED).read_text(encoding="utf-8"))
            runs[each.name] = doubted(runs[each.name], reason)
    return summed_up(cell, list(runs.values()), root)
