"""`idempotent_close`: closing again, from another thread, or after a failed constructor: no error, nothing left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.checkers import no_leaks
from harness.checkers._shared import EITHER, error_message, named
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "idempotent_close"
BUILDING = frozenset({"construct", "replace", "rebuild"})


class _ClosingChecker(Checker):
    """Applies where something was closed in one of these ways, or could not be built."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether there was such a close."""
        if history.component not in self.components:
            return False
        return bool(_closings(history) or _unbuilt(history))


def check(history: History) -> Judgement:
    """Judge every close but the plain first one, and what is left of an object that was not built."""
    closings = [op for op in _closings(history) if op.status in ("ok", "fail")]
    findings = [_raised(op, how) for op, how in _how(history) if op.status == "fail"]
    judged = len(closings)
    unbuilt = _unbuilt(history)
    if unbuilt:
        left = no_leaks.check(history)
        findings += [_left(found, unbuilt[-1]) for found in left.findings]
        judged += left.judged
    return Judgement(findings=tuple(findings), judged=judged)


def _closings(history: History) -> list[Operation]:
    return [operation for operation, _ in _how(history)]


def _how(history: History) -> Iterator[tuple[Operation, str]]:
    """Closes of this kind, each with what makes it one."""
    closed: Operation | None = None
    for operation in history.operations:
        if operation.op in BUILDING:
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


def _unbuilt(history: History) -> list[Operation]:
    """Constructions that failed."""
    return [op for op in history.operations if op.op in BUILDING and op.status == "fail"]


def _raised(operation: Operation, how: str) -> Finding:
    return Finding(
        checker=NAME,
        text=f"{how} must be no error, but {named(operation)} raised {error_message(operation)}",
        contract=Contract.LIVENESS,
        events=operation.events,
    )


def _left(found: Finding, unbuilt: Operation) -> Finding:
    text = f"{named(unbuilt)} raised, and nobody can close what it left: {found.text}"
    return replace(found, checker=NAME, text=text, events=(*unbuilt.events, *found.events))


CHECKER = _ClosingChecker(name=NAME, components=EITHER, check=check)
