"""`layout`: a storage that several writers have filled is laid out as a single one would have left it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._ring import Element, Reading, readings
from harness.checkers._shared import STORAGE, AnswerChecker, named
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "layout"
SHOWN = 3


def check(history: History) -> Judgement:
    """Judge every reading of all that there is."""
    findings: list[Finding] = []
    judged = 0
    for reading in readings(history, "read_all"):
        judged += max(1, len(reading.elements))
        findings += [
            Finding(
                checker=NAME,
                text=f"{named(reading.operation)} {text}",
                contract=Contract.EQUIVALENCE,
                events=reading.operation.events,
            )
            for text in list(_wrong(reading))[:SHOWN]
        ]
    return Judgement(findings=tuple(findings), judged=judged)


def _wrong(reading: Reading) -> Iterator[str]:
    ring = reading.before
    shape = list(reading.operation.result["shape"])
    if len(shape) > 1 and shape[1] != ring.width and reading.elements:
        yield f"found rows of {shape[1]} envs, and batches are of {ring.width}"
        return
    whole = [each for each in reading.elements if not each.wrong and ring.was_asked_for(each)]
    yield from _across(whole, ring.width)
    if ring.exact and all(run.certain for run in ring.runs):
        slots = ring.slots()
        for each in whole:
            row = (each.stream // ring.width, each.number)
            wanted = slots.get(each.slot[0])
            if wanted is not None and wanted != row:
                yield f"found {each.name} in slot {each.slot[0]}, where row {wanted[1]} of writer {wanted[0]} belongs"
    else:
        yield from _along(whole, reading)


def _across(elements: list[Element], width: int) -> Iterator[str]:
    """In a row, each env has its place."""
    for each in elements:
        if len(each.slot) > 1 and each.stream % width != each.slot[1]:
            yield f"found {each.name} at place {each.slot[1]} of a row"


def _along(elements: list[Element], reading: Reading) -> Iterator[str]:
    """Rows of one batch lie one behind the other."""
    ring = reading.before
    places = {(each.stream, each.number): each.slot[0] for each in elements}
    for (stream, number), slot in places.items():
        run = next(
            (
                r
                for r in ring.runs
                if r.writer == stream // ring.width and r.first <= number <= r.last
            ),
            None,
        )
        if run is None or (number - run.first) % run.rows == run.rows - 1:
            continue
        after = places.get((stream, number + 1))
        if after is not None and after != (slot + 1) % ring.capacity:
            yield (
                f"found row {number} of stream {stream} in slot {slot}, and the next one of its batch "
                f"in slot {after}"
            )


CHECKER = AnswerChecker(name=NAME, components=STORAGE, check=check, verbs=frozenset({"read_all"}))
