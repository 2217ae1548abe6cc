"""`no_loss_no_dup`: what was written can be read, once, until the ring comes round to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.checkers._ring import Element, Reading, Ring, readings
from harness.checkers._shared import STORAGE, AnswerChecker, named
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "no_loss_no_dup"
READING = ("sample", "read_all", "race")
WRITES = frozenset({"extend", "race", "empty", "load", "reopen", "collect"})
SHOWN = 3


def check(history: History) -> Judgement:
    """Compare what was read with the model of the ring."""
    findings: list[Finding] = []
    judged = 0
    for reading in readings(history, *READING):
        judged += max(len(reading.elements), reading.operation.op == "read_all")
        wrong = [*_of_size(reading, history.setup["sampler"]), *_of_reading(reading)]
        findings += [_finding(reading, text) for text in wrong[:SHOWN]]
    findings += _of_epochs(history)
    return Judgement(findings=tuple(findings), judged=judged)


def _finding(reading: Reading, text: str) -> Finding:
    return Finding(
        checker=NAME,
        text=f"{named(reading.operation)} {text}",
        contract=Contract.EQUIVALENCE,
        events=reading.operation.events,
    )


def _of_size(reading: Reading, sampler: str) -> Iterator[str]:
    """Whether a sample has as many elements as were asked for; the last one of an epoch may have fewer."""
    operation = reading.operation
    if operation.op == "read_all" or operation.result.get("gone"):
        return
    asked = int(operation.arguments["size"]) * int(operation.result.get("samples", 1))
    found = len(reading.elements)
    least = 1 if sampler == "epochs" else asked
    if not min(least, asked) <= found <= asked:
        yield f"has {found} elements, and was asked for {asked}"


def _of_reading(reading: Reading) -> Iterator[str]:
    known = [each for each in reading.elements if reading.after.was_asked_for(each)]
    for element in known:
        yield from _of_element(element, reading.before, reading.after)
    if reading.operation.op != "read_all":
        return
    counts = Counter((each.stream, each.number) for each in known)
    for (stream, number), times in counts.items():
        if times > 1:
            yield f"found row {number} of stream {stream} {times} times"
    yield from _missing(counts, reading.before)
    yield from _counted(reading)


def _of_element(element: Element, before: Ring, after: Ring) -> Iterator[str]:
    run = after.run_of(element)
    if run is None:
        if after.was_dropped(element):
            yield f"found {element.name}, which had been dropped"
        return
    if run in before.runs and before.rows_after(run, element.number)[0] >= before.capacity:
        yield f"found {element.name}, which had been overwritten"


def _missing(counts: Counter[tuple[int, int]], ring: Ring) -> Iterator[str]:
    for run in ring.runs:
        if not run.certain:
            continue
        for number in range(run.first, run.last + 1):
            if ring.rows_after(run, number)[1] >= ring.capacity:
                continue
            for stream in range(run.writer * ring.width, (run.writer + 1) * ring.width):
                if not counts[stream, number]:
                    yield f"did not find row {number} of stream {stream}, which was stored"


def _counted(reading: Reading) -> Iterator[str]:
    """How many rows there are, where it cannot be told which."""
    ring, found = reading.before, len(reading.elements)
    length = int(reading.operation.result["length"])
    if length < found:
        yield f"found {found} elements, and the storage says that it holds {length}"
    whole = min(ring.capacity, ring.certain + ring.uncertain)
    least, most = (whole - ring.uncertain) * ring.width, whole * ring.width
    if not least <= found <= most:
        between = f"{most}" if least == most else f"{least} to {most}"
        yield f"found {found} elements, and there ought to be {between}"


def _of_epochs(history: History) -> Iterator[Finding]:
    """Where each row is sampled once before any again: whether all came before one came again."""
    if history.setup["sampler"] != "epochs":
        return
    seen: set[tuple[int, int]] = set()
    total = 0
    for reading in readings(history, *READING, *WRITES):
        if reading.operation.op in WRITES:
            seen, total = set(), 0
            continue
        if reading.operation.op == "read_all":
            total = len(reading.elements)
            continue
        for element in reading.elements:
            row = (element.stream, element.number)
            if row in seen and len(seen) < total:
                text = f"had {element.name} again, when {total - len(seen)} of {total} had not come yet"
                yield _finding(reading, text)
                return
            seen = {row} if len(seen) >= total and total else seen | {row}


CHECKER = AnswerChecker(name=NAME, components=STORAGE, check=check, verbs=frozenset(READING))
