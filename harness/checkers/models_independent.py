"""`models_independent`: each model reaches its own target, and moves no other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness.checkers._shared import WEIGHTS, AnswerChecker, finding_on, named
from harness.checkers._versions import (
    Acted,
    acted,
    invoked_before_end,
    is_defective,
    may_come_since,
    owed,
    pairs,
    sends_of,
    version_of,
)
from harness.model.history import History, Operation
from harness.model.verdict import Finding, Judgement

NAME = "models_independent"
_finding = partial(finding_on, NAME)


def check(history: History) -> Judgement:
    """Judge what value networks hold, and that what a policy's version is called moves with its own sends only."""
    acts = [act for act in acted(history) if act.row.get("value") is not None]
    sends = sends_of(history, "value")
    findings = [finding for act in acts for finding in _value(history, sends, act)]
    findings += [finding for two in pairs(history) for finding in _moved(history, *two)]
    return Judgement(findings=tuple(findings), judged=len(acts))


def _value(history: History, sends: list[Operation], act: Acted) -> Iterator[Finding]:
    due = owed(history, sends, act)
    version = int(act.row["value"])
    if version in due.current:
        return
    held = "a mixture of versions" if version < 0 else f"version {version}"
    text = f"the value network of worker {act.worker} held {held} in {named(act.forward)}"
    if due.last is not None:
        text += f", after {named(due.last)} of version {version_of(due.last)} had returned"
    else:
        text += ", and nothing was ever sent to it"
    yield _finding(text, *([due.last] if due.last else []), act.forward)


def _moved(history: History, before: Acted, after: Acted) -> Iterator[Finding]:
    """A label that changed although no policy was sent."""
    one, other = before.row.get("label"), after.row.get("label")
    if one == other or None in (one, other):
        return
    # What was begun before the later forward ended, and was not known to be held when the earlier one began.
    between = [
        send
        for send in sends_of(history)
        if invoked_before_end(send, after.forward)
        and not is_defective(send)
        and may_come_since(history, send, before.began_ns)
    ]
    values = [s for s in sends_of(history, "value") if invoked_before_end(s, after.forward)]
    if between or not values:
        return
    text = f"{named(values[-1])} of a value network moved the policy's version of worker "
    text += f"{after.worker} from {one} to {other}"
    yield _finding(text, before.forward, values[-1], after.forward)


class _ModelsChecker(AnswerChecker):
    """Applies where workers have several models."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether the setup says so."""
        several = history.setup.get("models") == "policy_and_value"
        return several and super().applies(history)


CHECKER = _ModelsChecker(name=NAME, components=WEIGHTS, check=check, verbs=frozenset({"forward"}))
