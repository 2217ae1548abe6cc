"""`acks_aligned`: an acknowledgement answers its own send, and says truly whether it was applied."""

from __future__ import annotations

from harness.checkers._shared import (
    WEIGHTS,
    AnswerChecker,
    ended_ns,
    error_message,
    is_under_fault,
    named,
)
from harness.checkers._versions import (
    FIRST_VERSION,
    forwards_of,
    invoked_before_end,
    is_defective,
    read_by,
    sends_of,
    version_of,
)
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "acks_aligned"
EXCUSES = frozenset({"hold_forward", "stall", "signal", "raise", "close_channel"})


def check(history: History) -> Judgement:
    """Judge how each send ended, and what the forwards after it show."""
    sends = sends_of(history)
    completed = [op for op in sends if op.status in ("ok", "fail")]
    findings = _wrong_answers(history, completed)
    for forward in forwards_of(history):
        findings += _wrong_versions(forward, sends)
    return Judgement(findings=tuple(findings), judged=len(completed))


def _wrong_answers(history: History, completed: list[Operation]) -> list[Finding]:
    findings = []
    defective: Operation | None = None
    for send in completed:
        if is_defective(send):
            defective = send
            if send.status == "ok":
                defect = send.arguments["defect"]
                text = f"{named(send)} returned although no worker can apply its weights ({defect})"
                findings.append(_finding(text, send))
        elif send.status == "fail" and not is_under_fault(history, send, EXCUSES):
            text = f"{named(send)} of valid weights raised {error_message(send)}"
            if defective is not None:
                text += f": an ack of {named(defective)} answered the wrong send"
            findings.append(_finding(text, *([defective] if defective else []), send))
    return findings


def _wrong_versions(forward: Operation, sends: list[Operation]) -> list[Finding]:
    begun = [send for send in sends if invoked_before_end(send, forward)]
    valid = [send for send in begun if not is_defective(send)]
    held = [send for send in valid if send.status == "ok" and _ended_before(send, forward)]
    last = held[-1] if held else None
    newest = valid.index(last) if last else 0
    current = {version_of(send) for send in valid[newest:]} | (set() if last else {FIRST_VERSION})
    older = ({version_of(send) for send in valid[:newest]} | {FIRST_VERSION}) - current
    refused = {version_of(op): op for op in begun if is_defective(op)}
    findings = []
    for row in forward.rows:
        for version in read_by(row):
            shown = f"worker {row['worker']} acted on version {version} in {named(forward)}"
            if last is not None and version in older:
                text = f"{shown}, after {named(last)} of version {version_of(last)} had returned"
                findings.append(_finding(text, last, forward))
            elif version in refused and version not in current:
                text = f"{shown}, which {named(refused[version])} could not have applied"
                findings.append(_finding(text, refused[version], forward))
    return findings


def _ended_before(send: Operation, forward: Operation) -> bool:
    done = ended_ns(send)
    return done is not None and done <= forward.invoked.ts_ns


def _finding(text: str, *operations: Operation) -> Finding:
    events = tuple(event for op in operations for event in op.events)
    return Finding(checker=NAME, text=text, contract=Contract.EQUIVALENCE, events=events)


CHECKER = AnswerChecker(name=NAME, components=WEIGHTS, check=check, verbs=frozenset({"send"}))
