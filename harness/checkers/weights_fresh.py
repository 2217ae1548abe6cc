"""`weights_fresh`: after a send returned its targets act on it or newer, others are untouched, nobody goes back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness.checkers._shared import WEIGHTS, AnswerChecker, finding_on, named
from harness.checkers._versions import (
    FIRST_VERSION,
    SENDING,
    Acted,
    acted,
    invoked_before_end,
    is_defective,
    may_come_since,
    owed,
    pairs,
    read_by,
    sends_of,
    targets,
    version_of,
)
from harness.model.history import History, Operation
from harness.model.verdict import Finding, Judgement

NAME = "weights_fresh"
_finding = partial(finding_on, NAME)
FIRST, UNKNOWN = -1, -2  # places before all that were sent


def check(history: History) -> Judgement:
    """Judge each version that a forward shows, each step from one forward to the next, and what they are called."""
    sends = sends_of(history)
    acts = acted(history)
    findings = [finding for act in acts for finding in _of_one(history, sends, act)]
    findings += [finding for two in pairs(history) for finding in _backwards(sends, *two)]
    findings += _labels([act for act in acts if not _is_beside_a_send(history, sends, act)])
    return Judgement(findings=tuple(findings), judged=len(acts))


def _of_one(history: History, sends: list[Operation], act: Acted) -> Iterator[Finding]:
    """What is stale, or was sent to others only."""
    due = owed(history, sends, act)
    for version in read_by(act.row):
        shown = f"worker {act.worker} acted on version {version} in {named(act.forward)}"
        if due.last is not None and version in due.older:
            text = (
                f"{shown}, after {named(due.last)} of version {version_of(due.last)} had returned"
            )
            yield _finding(text, due.last, act.forward)
        if version in due.current | due.older:
            continue
        elsewhere = [
            send
            for send in sends
            if version_of(send) == version
            and not is_defective(send)
            and not targets(send, act.worker)
            and invoked_before_end(send, act.forward)
        ]
        if elsewhere:
            text = f"{shown}, which {named(elsewhere[-1])} had sent to others only"
            yield _finding(text, elsewhere[-1], act.forward)


def _backwards(sends: list[Operation], before: Acted, after: Acted) -> Iterator[Finding]:
    """A worker that has acted on a version does not act on an older one later."""
    past, now = _places(sends, before), _places(sends, after)
    newest = max(read_by(before.row), key=lambda version: past.get(version, UNKNOWN))
    for version in read_by(after.row):
        if version in now and now[version] < past.get(newest, UNKNOWN):
            text = (
                f"worker {after.worker} went back from version {newest} in {named(before.forward)} "
            )
            text += f"to version {version} in {named(after.forward)}"
            yield _finding(text, before.forward, after.forward)


def _places(sends: list[Operation], act: Acted) -> dict[int, int]:
    """The order of the versions that were sent to a worker, or begun to be, by the end of its forward."""
    valid = [s for s in sends if not is_defective(s) and targets(s, act.worker)]
    begun = [s for s in valid if invoked_before_end(s, act.forward)]
    return {FIRST_VERSION: FIRST, **{version_of(send): i for i, send in enumerate(begun)}}


def _is_beside_a_send(history: History, sends: list[Operation], act: Acted) -> bool:
    """Whether a send was under way before its forward returned: a collector stamps what comes after a forward."""
    return any(
        invoked_before_end(send, act.forward)
        and not is_defective(send)
        and may_come_since(history, send, act.began_ns)
        for send in sends
    )


def _labels(acts: list[Acted]) -> Iterator[Finding]:
    """What a backend calls a version is one version, for each worker."""
    known: dict[tuple[int, int], Acted] = {}
    for act in acts:
        label = act.row.get("label")
        if label is None or len(read_by(act.row)) > 1:
            continue
        first = known.setdefault((act.worker, int(label)), act)
        if first.row["first"] != act.row["first"]:
            text = (
                f"worker {act.worker} says that it acted on its version {label} both in "
                f"{named(first.forward)}, where that was version {first.row['first']}, and in "
                f"{named(act.forward)}, where it was version {act.row['first']}"
            )
            yield _finding(text, first.forward, act.forward)


class _FreshChecker(AnswerChecker):
    """Applies where something is sent, and workers act."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether both are done."""
        return super().applies(history) and "forward" in history.verbs


CHECKER = _FreshChecker(name=NAME, components=WEIGHTS, check=check, verbs=SENDING)
