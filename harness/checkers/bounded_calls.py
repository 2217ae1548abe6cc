"""`bounded_calls`: every call ends within its deadline, and a timeout that was given is kept."""

from __future__ import annotations

from harness.checkers._shared import ANY, ENDING_VERBS, hung, is_timeout, named
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "bounded_calls"
EARLY_S = 0.01  # timers of selectors count in ms, and so may be early by one
LATE_S = 0.5
LATE_SHARE = 0.1  # of the deadline, which grows with the machine's time scale


def lateness(checker: str, operation: Operation) -> Finding | None:
    """The finding of a call that ended after its deadline; None if it was in time or is open."""
    elapsed_s = operation.elapsed_s
    if elapsed_s is None or elapsed_s <= operation.deadline_s:
        return None
    return Finding(
        checker=checker,
        text=f"{named(operation)} took {elapsed_s:.2f} s, and had {operation.deadline_s:.2f} s",
        contract=Contract.LIVENESS,
        events=operation.events,
        time=True,
    )


def endlessness(checker: str, history: History, operation: Operation) -> Finding:
    """The finding of a call that was still open when the driver had to be ended."""
    kind = history.ending.hang or "not told"
    return Finding(
        checker=checker,
        text=f"{named(operation)} had not ended after its deadline of "
        f"{operation.deadline_s:.2f} s and the grace (hang: {kind})",
        contract=Contract.LIVENESS,
        events=operation.events,
        time=True,
    )


def check(history: History) -> Judgement:
    """Judge every operation but those that end the backend."""
    calls = [op for op in history.operations if op.op not in ENDING_VERBS]
    completed = [op for op in calls if op.completed is not None]
    stuck = [op for op in hung(history) if op.op not in ENDING_VERBS]
    findings = [endlessness(NAME, history, op) for op in stuck]
    for op in completed:
        late = lateness(NAME, op) or _timeout_missed(op)
        findings += [late] if late else []
    return Judgement(findings=tuple(findings), judged=len(completed) + len(stuck))


def _timeout_missed(operation: Operation) -> Finding | None:
    timeout_s = operation.arguments.get("timeout_s")
    if operation.op != "recv" or timeout_s is None or operation.elapsed_s is None:
        return None
    elapsed_s = operation.elapsed_s
    timed_out = is_timeout(operation)
    late = (operation.status == "ok" or timed_out) and elapsed_s > timeout_s + max(
        LATE_S, LATE_SHARE * operation.deadline_s
    )
    early = timed_out and elapsed_s < timeout_s - EARLY_S
    if not (late or early):
        return None
    end = "raised TimeoutError" if timed_out else "returned"
    return Finding(
        checker=NAME,
        text=f"{named(operation)} was given a timeout of {timeout_s:.2f} s and {end} "
        f"after {elapsed_s:.2f} s",
        contract=Contract.LIVENESS,
        events=operation.events,
        time=late,
    )


CHECKER = Checker(name=NAME, components=ANY, check=check)
