"""`rows_whole`: no reader meets a row that is torn, was never written, or is there before its data."""

from __future__ import annotations

from harness.checkers._ring import Element, Ring, readings
from harness.checkers._shared import STORAGE, AnswerChecker, named
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "rows_whole"
READING = ("sample", "read_all", "race")
SHOWN = 3  # findings of one call


def check(history: History) -> Judgement:
    """Look at every element that anybody has read."""
    findings: list[Finding] = []
    judged = 0
    for reading in readings(history, *READING):
        judged += len(reading.elements)
        reasons = [_why(each, reading.after) for each in reading.elements]
        bad = [why for why in reasons if why is not None]
        length = int(reading.operation.result.get("length", 0))
        if length > len(reading.elements):
            bad.append(f"a length of {length}, ahead of what can be read")
        findings += [
            Finding(
                checker=NAME,
                text=f"{named(reading.operation)} met {why} ({len(bad)} of {len(reading.elements)})",
                contract=Contract.EQUIVALENCE,
                events=reading.operation.events,
            )
            for why in bad[:SHOWN]
        ]
    return Judgement(findings=tuple(findings), judged=judged)


def _why(element: Element, ring: Ring) -> str | None:
    where = f" in slot {element.slot[0]}" if element.slot else ""
    if element.number == 0 and element.stream == -1:
        return f"a row that nobody has written{where}"
    if element.wrong:
        others = ", ".join(element.wrong)
        return f"a torn row{where}: it is {element.name}, but not its {others}"
    if not ring.was_asked_for(element):
        return f"{element.name}{where}, which nobody was asked for"
    return None


CHECKER = AnswerChecker(name=NAME, components=STORAGE, check=check, verbs=frozenset(READING))
