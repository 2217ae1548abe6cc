"""`params_applied`: each transition, and each read, shows the parameters that are in force in its env."""

from __future__ import annotations

from harness.checkers._levels import Levels, Seen
from harness.checkers._shared import POOL, AnswerChecker, named
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "params_applied"


def check(history: History) -> Judgement:
    """Judge what every step, and every read, shows of its env's level."""
    seen = list(Levels(history).seen())
    findings = tuple(_finding(each) for each in seen if each.level not in each.allowed)
    return Judgement(findings=findings, judged=len(seen))


def _finding(seen: Seen) -> Finding:
    in_force = " or ".join(map(str, sorted(seen.allowed)))
    change = "" if seen.changed_by is None else f" after {named(seen.changed_by)}"
    text = f"env {seen.env} in {named(seen.operation)} shows level {seen.level}, "
    events = seen.operation.events if seen.changed_by is None else seen.changed_by.events
    return Finding(
        checker=NAME,
        text=f"{text}and level {in_force} is in force{change}",
        contract=Contract.EQUIVALENCE,
        events=(*events, *seen.operation.events),
    )


CHECKER = AnswerChecker(name=NAME, components=POOL, check=check, verbs=frozenset({"set_params"}))
