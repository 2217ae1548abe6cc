"""`bounded_shutdown`: closing ends within its deadline, without an error, from whatever state."""

from __future__ import annotations

from harness.checkers._shared import ANY, ENDING_VERBS, error_message, hung, named
from harness.checkers.bounded_calls import endlessness, lateness
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "bounded_shutdown"
CLOSING = ENDING_VERBS - {"leave"}  # leaving is another checker's case


class _EndingChecker(Checker):
    """Applies to scenarios that shut down, and to histories in which garbage collection did it."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether there is, or should have been, something that ends the backend."""
        if history.component not in self.components:
            return False
        return "shutdown" in history.verbs or any(op.op in CLOSING for op in history.operations)


def check(history: History) -> Judgement:
    """Judge every shutdown, and every collection of an abandoned backend."""
    endings = [op for op in history.operations if op.op in CLOSING]
    completed = [op for op in endings if op.completed is not None]
    stuck = [op for op in hung(history) if op.op in CLOSING]
    findings = [endlessness(NAME, history, op) for op in stuck]
    for op in completed:
        findings += [found for found in (lateness(NAME, op), _uncleanness(op)) if found]
    return Judgement(findings=tuple(findings), judged=len(completed) + len(stuck))


def _uncleanness(operation: Operation) -> Finding | None:
    if operation.status != "fail":
        return None
    return Finding(
        checker=NAME,
        text=f"close must be clean, but {named(operation)} raised {error_message(operation)}",
        contract=Contract.LIVENESS,
        events=operation.events,
    )


CHECKER = _EndingChecker(name=NAME, components=ANY, check=check)
