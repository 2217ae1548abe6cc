"""`params_applied`: each transition, and each read, shows the parameters that are in force in its env."""

from __future__ import annotations

from harness.checkers._levels import Levels, Seen
from harness.checkers._shared import POOL, AnswerChecker, named
from harness.checkers._walk import ANSWERING
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "params_applied"
SHOWING = ANSWERING | {"read_params"}


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


class _ParamsChecker(AnswerChecker):
    """Applies where parameters are changed, and something shows them."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether both are done."""
        return bool(SHOWING & history.verbs) and super().applies(history)


CHECKER = _ParamsChecker(name=NAME, components=POOL, check=check, verbs=frozenset({"set_params"}))
