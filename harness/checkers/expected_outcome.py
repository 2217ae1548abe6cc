"""`expected_outcome`: calls succeed or fail as the scenario expects of a correct backend."""

from __future__ import annotations

from collections.abc import Iterable

from harness.checkers._errors import UNHELPFUL, markers_of, says_gone, statements
from harness.checkers._shared import (
    ANY,
    ASKING_VERBS,
    ENDING_VERBS,
    HOLDING_FAULTS,
    STORAGE,
    after_close,
    ended_ns,
    error_message,
    fault_windows,
    is_under_fault,
    named,
    timed_out_as_asked,
)
from harness.model.history import FaultRecord, History, Operation
from harness.model.scenario import Expected
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "expected_outcome"


def check(history: History) -> Judgement:
    """Judge every completed operation; any of the accepted outcomes suffices."""
    completed = [op for op in history.operations if op.completed is not None]
    # What was under way when a fault ended its caller has no outcome of its own.
    told = [op for op in completed if not (op.status == "info" and history.left_as_asked)]
    endings = [op for op in told if op.op in ENDING_VERBS]
    calls = [op for op in told if op.op not in ENDING_VERBS]
    findings = [_failed(op, "close is clean") for op in endings if op.status != "ok"]
    options = [_against(Expected(outcome), history, calls) for outcome in history.expect]
    nearest: list[Finding] = min(options, key=len)
    return Judgement(findings=(*findings, *nearest), judged=len(completed))


def _against(outcome: Expected, history: History, calls: list[Operation]) -> list[Finding]:
    """What contradicts one outcome."""
    match outcome:
        case Expected.SURVIVES:
            return _failures(history, calls, "every call succeeds")
        case Expected.RECOVERS:
            after = [op for op in calls if _in_converge(op) or not is_under_fault(history, op)]
            return _failures(history, after, "calls outside of a fault succeed")
        case Expected.FAILS_BOUNDED:
            closed = after_close(history)
            asked = [op for op in calls if op.id not in closed]
            before = [op for op in asked if _in_converge(op) or _is_before_faults(history, op)]
            return [
                *_failures(history, before, "calls that no fault has hit succeed"),
                *_unanswered_faults(history, asked),
                *_answered_after_close(history, (op for op in calls if op.id in closed)),
            ]


def _failures(history: History, calls: Iterable[Operation], rule: str) -> list[Finding]:
    return [_failed(op, rule) for op in calls if op.status != "ok" and not _asked(history, op)]


def _asked(history: History, operation: Operation) -> bool:
    """Whether raising is what this call was made for."""
    refused = operation.arguments.get("refusable") and operation.error.get("type") not in UNHELPFUL
    spoilt = operation.arguments.get("defect") is not None
    return bool(spoilt or refused) or timed_out_as_asked(history, operation)


def _in_converge(operation: Operation) -> bool:
    return operation.arguments.get("phase") == "converge"


def _is_before_faults(history: History, operation: Operation) -> bool:
    done = ended_ns(operation)
    return done is not None and all(done < start for start, _ in fault_windows(history))


def _unanswered_faults(history: History, calls: list[Operation]) -> list[Finding]:
    """Faults that struck, and after which calls came, and none raised; what never ended is another's case."""
    findings = []
    for record in history.fault_records:
        window = history.fault_window_ns(record.id)
        if window is None or record.effect is None:
            continue  # nobody can be asked to notice what had no effect
        if any(op.completed is None for op in history.operations):
            continue
        later = [op for op in calls if (ended_ns(op) or 0) >= window[0]]
        if later and not any(_answers(history, op, record) for op in later):
            findings.append(_unanswered(record, later))
    return findings


def _answers(history: History, operation: Operation, record: FaultRecord) -> bool:
    """Whether a call that failed may have done so for this fault, and not only because it was bound to."""
    if operation.status != "fail":
        return False
    if timed_out_as_asked(history, operation):
        return record.name in HOLDING_FAULTS
    told = statements(operation)
    of_fault = any(marker in told for marker in markers_of(history, record.id))
    return of_fault or says_gone(history, told) or not operation.arguments.get("refusable")


def _answered_after_close(history: History, calls: Iterable[Operation]) -> list[Finding]:
    """Calls that nobody is left to answer, and that succeeded: their failing would say nothing of a fault."""
    if history.component in STORAGE:
        return []  # what was stored may be read for as long as somebody has it
    return [
        Finding(
            checker=NAME,
            text=f"{named(op)} returned: expected is that calls fail once it is closed",
            contract=Contract.EQUIVALENCE,
            events=op.events,
        )
        for op in calls
        if op.op in ASKING_VERBS and op.status == "ok" and not op.arguments.get("refusable")
    ]


def _unanswered(record: FaultRecord, later: list[Operation]) -> Finding:
    refused = " or were bound to fail" * any(op.status == "fail" for op in later)
    return Finding(
        checker=NAME,
        text=f"the call that {record.name} ({record.id}) hits raises, but all of the "
        f"{len(later)} calls after it returned{refused}",
        contract=Contract.EQUIVALENCE,
        events=tuple(event for op in later for event in op.events),
    )


def _failed(operation: Operation, rule: str) -> Finding:
    what = f"raised {error_message(operation)}" if operation.status == "fail" else "was given up"
    return Finding(
        checker=NAME,
        text=f"{named(operation)} {what}: expected is that {rule}",
        contract=Contract.EQUIVALENCE,
        events=operation.events,
    )


CHECKER = Checker(name=NAME, components=ANY, check=check)
