"""`setup_order`: what has no meaning is refused before any effect; who joins gets what it was to get."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness.checkers._errors import UNHELPFUL
from harness.checkers._shared import (
    WEIGHTS,
    ended_ns,
    error_message,
    finding_on,
    named,
    silent_workers,
)
from harness.checkers._versions import (
    FIRST_VERSION,
    acted,
    is_defective,
    read_by,
    sends_of,
    targets,
    version_of,
)
from harness.model.history import History, Operation
from harness.model.verdict import Finding, Judgement
from harness.ports.checkers import Checker

NAME = "setup_order"
_finding = partial(finding_on, NAME)
VERBS = frozenset({"misuse", "restart_worker", "set_up"})
NOBODYS = 0  # the version of what is sent by calls that have to be refused


def check(history: History) -> Judgement:
    """Judge calls that have to be refused, first forwards of workers that were started anew, and what set-up brings."""
    judged = [op for op in history.operations if op.op in VERBS]
    done = [op for op in judged if op.status in ("ok", "fail")]
    findings = [finding for op in done for finding in _judge(history, op)]
    return Judgement(findings=tuple(findings), judged=len(done))


def _judge(history: History, op: Operation) -> Iterator[Finding]:
    if op.op == "restart_worker":
        yield from _restarted(history, op)
        return
    if op.op == "set_up":
        yield from _set_up(op)
        return
    what = op.arguments["what"]
    if op.status == "ok":
        yield _finding(f"{named(op)} returned: {what} was not refused", op)
    elif op.error.get("type") in UNHELPFUL:
        text = f"{named(op)}: {what} was not refused, it fell over: {error_message(op)}"
        yield _finding(text, op)
    for act in acted(history):
        if NOBODYS in read_by(act.row) and act.began_ns >= op.invoked.ts_ns:
            text = f"worker {act.worker} acted in {named(act.forward)} on what {named(op)} carried "
            yield _finding(f"{text}({what})", op, act.forward)
            return


def _restarted(history: History, op: Operation) -> Iterator[Finding]:
    """The version in force when a worker was started anew, or a later one, is what it acts on first."""
    worker, since = int(op.arguments["worker"]), ended_ns(op)
    if op.status != "ok" or since is None:
        return
    mine = [s for s in sends_of(history) if not is_defective(s) and targets(s, worker)]
    begun = [s for s in mine if s.invoked.ts_ns <= op.invoked.ts_ns]
    if begun and begun[-1].op == "race" and begun[-1].status != "ok":
        return  # nobody knows how far it had come
    later = {version_of(s) for s in mine if s.invoked.ts_ns > op.invoked.ts_ns}
    current = version_of(begun[-1]) if begun else FIRST_VERSION
    first = next((a for a in acted(history) if a.worker == worker and a.began_ns >= since), None)
    if first is None:
        return
    for version in read_by(first.row):
        if version not in {current, *later}:
            text = f"worker {worker}, started anew by {named(op)}, acted on version {version} in "
            text += f"{named(first.forward)}: version {current} was in force"
            yield _finding(text, op, first.forward)


def _set_up(op: Operation) -> Iterator[Finding]:
    """Each worker holds what was meant for it."""
    if op.status != "ok":
        return
    versions = op.arguments["versions"]
    yield from silent_workers(NAME, op, range(len(versions)))
    for row in op.rows:
        meant = versions[row["worker"]]
        for version in read_by(row):
            if version != meant:
                text = f"{named(op)} gave worker {row['worker']} version {version}: {meant} was meant for it"
                yield _finding(text, op)


CHECKER = Checker(name=NAME, components=WEIGHTS, check=check, verbs=VERBS)
