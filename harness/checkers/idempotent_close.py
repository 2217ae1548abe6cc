"""`idempotent_close`: closing again, or from another thread, is no error."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._shared import ANY, BUILDING_VERBS, error_message, named
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "idempotent_close"


class _ClosingChecker(Checker):
    """Applies where something was closed in one of these ways."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether there was such a close."""
        return history.component in self.components and any(True for _ in _how(history))


def check(history: History) -> Judgement:
    """Judge every close but the plain first one."""
    closings = [each for each in _how(history) if each[0].status in ("ok", "fail")]
    findings = tuple(_raised(op, how) for op, how in closings if op.status == "fail")
    return Judgement(findings=findings, judged=len(closings))


def _how(history: History) -> Iterator[tuple[Operation, str]]:
    """Closes of this kind, each with what makes it one."""
    closed: Operation | None = None
    for operation in history.operations:
        if operation.op in BUILDING_VERBS:
            closed = None
        if operation.op != "shutdown":
            continue
        elsewhere = " from another thread" if operation.arguments.get("thread") else ""
        if closed is not None:
            yield operation, f"closing again{elsewhere}, after {named(closed)},"
        elif elsewhere:
            yield operation, f"closing{elsewhere}"
        if closed is None:
            closed = operation


def _raised(operation: Operation, how: str) -> Finding:
    return Finding(
        checker=NAME,
        text=f"{how} must be no error, but {named(operation)} raised {error_message(operation)}",
        contract=Contract.LIVENESS,
        events=operation.events,
    )


CHECKER = _ClosingChecker(name=NAME, components=ANY, check=check)
