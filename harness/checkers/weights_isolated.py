"""`weights_isolated`: workers act only on versions that were sent to them."""

from __future__ import annotations

from harness.checkers._shared import WEIGHTS, AnswerChecker, named
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

NAME = "weights_isolated"
PROMISE = "the scheme is documented as sending weight copies"


def check(history: History) -> Judgement:
    """Judge each version that a row shows; a torn row may show up to three."""
    mutations = [op for op in history.operations if op.op == "mutate"]
    sends = sends_of(history)
    findings: list[Finding] = []
    judged = 0
    for forward in forwards_of(history):
        begun = [send for send in sends if invoked_before_end(send, forward)]
        allowed = {FIRST_VERSION, *(version_of(op) for op in begun if not is_defective(op))}
        for row in forward.rows:
            judged += 1
            findings += [
                _unsent(history, forward, row["worker"], version, [*mutations, *begun])
                for version in read_by(row)
                if version not in allowed
            ]
    return Judgement(findings=tuple(findings), judged=judged)


def _unsent(
    history: History, forward: Operation, worker: int, version: int, sources: list[Operation]
) -> Finding:
    source = next((op for op in reversed(sources) if version_of(op) == version), None)
    text = f"worker {worker} acted on version {version} in {named(forward)}"
    contract = Contract.EQUIVALENCE
    if source is None:
        text += ", which nothing had been filled with"
    elif source.op != "mutate":
        text += f", which only the defective {named(source)} carried"
    else:
        text += f", which was never sent: {named(source)} filled the trainer's own parameters"
        contract = Contract.DOCUMENTED
        text += f"; {PROMISE}"
    scheme = history.setup.get("scheme", "copy")
    if source is not None and source.op == "mutate" and scheme not in _promised(history):
        contract = Contract.OPINION  # shared memory is documented as visible without a message
        text = text.removesuffix(f"; {PROMISE}")
    events = (*(source.events if source else ()), *forward.events)
    return Finding(checker=NAME, text=text, contract=contract, events=events)


def _promised(history: History) -> frozenset[str]:
    """The schemes that isolate, as the backend says."""
    return frozenset(history.properties.get("isolates", ("copy",)))


CHECKER = AnswerChecker(name=NAME, components=WEIGHTS, check=check, verbs=frozenset({"forward"}))
