"""`acks_aligned`: an acknowledgement answers its own send, and says truly whether it was applied."""

from __future__ import annotations

from functools import partial

from harness.checkers._shared import (
    HOLDING_FAULTS,
    LOSING_FAULTS,
    WEIGHTS,
    AnswerChecker,
    error_message,
    finding_on,
    is_under_fault,
    named,
)
from harness.checkers._versions import (
    SENDS,
    acted,
    invoked_before_end,
    is_defective,
    owed,
    read_by,
    sends_of,
    version_of,
)
from harness.model.history import History, Operation
from harness.model.verdict import Finding, Judgement

NAME = "acks_aligned"
_finding = partial(finding_on, NAME)
EXCUSES = (HOLDING_FAULTS | LOSING_FAULTS | {"delay_transfer", "reorder_transfer"}) | {
    "limit",
    "full_shared_memory",
    "signal_owner",
}


def check(history: History) -> Judgement:
    """Judge how each send ended, and whether forwards act on what a send has refused."""
    sends = [op for op in history.operations if op.op in SENDS | {"wait_async"}]
    completed = [op for op in sends if op.status in ("ok", "fail")]
    findings = [*_wrong_answers(history, completed), *_refused(history)]
    return Judgement(findings=tuple(findings), judged=len(completed))


def _wrong_answers(history: History, completed: list[Operation]) -> list[Finding]:
    findings = []
    defective: Operation | None = None
    begun: Operation | None = None  # what a wait waits for
    for send in completed:
        if send.op == "send_async":
            begun = send
        carrier = begun if send.op == "wait_async" and begun is not None else send
        if send.op != "send_async" and is_defective(carrier):
            defective = send
            if send.status == "ok":
                defect = carrier.arguments["defect"]
                text = f"{named(send)} returned although no worker can apply its weights ({defect})"
                findings.append(_finding(text, send))
        elif send.status == "fail" and not _excused(history, send):
            text = f"{named(send)} of valid weights raised {error_message(send)}"
            if defective is not None:
                text += f": an ack of {named(defective)} answered the wrong send"
            findings.append(_finding(text, *([defective] if defective else []), send))
    return findings


def _excused(history: History, send: Operation) -> bool:
    """Whether a fault was in force; a send after the end of it all is refused rightly."""
    over = any(
        op.op == "shutdown" and op.invoked.ts_ns <= (send.completed or send.invoked).ts_ns
        for op in history.operations
    )
    return over or is_defective(send) or is_under_fault(history, send, EXCUSES)


def _refused(history: History) -> list[Finding]:
    """Forwards that act on what a send could not have applied."""
    sends = sends_of(history)
    findings = []
    for act in acted(history):
        begun = [send for send in sends if invoked_before_end(send, act.forward)]
        refused = {version_of(send): send for send in begun if is_defective(send)}
        due = owed(history, sends, act)
        for version in read_by(act.row):
            if version in refused and version not in due.current | due.older:
                text = f"worker {act.worker} acted on version {version} in {named(act.forward)}, "
                text += f"which {named(refused[version])} could not have applied"
                findings.append(_finding(text, refused[version], act.forward))
    return findings


CHECKER = AnswerChecker(name=NAME, components=WEIGHTS, check=check, verbs=SENDS)
