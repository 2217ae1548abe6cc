"""`no_torn_forward`: one forward of each worker sees one weights version, in every tensor and buffer."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._shared import WEIGHTS, AnswerChecker, named, silent_workers
from harness.checkers._versions import forwards_of
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "no_torn_forward"
VERBS = frozenset({"forward", "race"})


def check(history: History) -> Judgement:
    """Compare, in each row, the versions at both ends of the parameter and in the buffer.

    A race tells how many forwards there were, and the first few torn ones. A worker that a forward has no row
    of may have read anything.
    """
    acting = [op for op in history.operations if op.op in VERBS]
    rows = [(op, row) for op in acting for row in op.rows]
    judged = sum(int(op.result.get("forwards", len(op.rows))) for op in acting)
    torn = tuple(
        Finding(
            checker=NAME,
            text=f"{named(op)} of worker {row['worker']} read version {row['first']} at the start "
            f"of the parameter, {row['last']} at its end and {row['buffer']} in the buffer{_share(op)}",
            contract=Contract.EQUIVALENCE,
            events=op.events,
        )
        for op, row in rows
        if not row["first"] == row["last"] == row["buffer"]
    )
    silent = tuple(found for op in forwards_of(history) for found in _silent(history, op))
    return Judgement(findings=(*silent, *torn), judged=judged)


def _silent(history: History, forward: Operation) -> Iterator[Finding]:
    asked = forward.arguments.get("workers")
    workers = range(int(history.setup.get("num_workers", 0))) if asked is None else asked
    return silent_workers(NAME, forward, workers)


def _share(operation: Operation) -> str:
    """How many of a race's forwards were torn."""
    torn = operation.result.get("torn")
    return (
        "" if torn is None else f": one of {torn} torn forwards of {operation.result['forwards']}"
    )


CHECKER = AnswerChecker(name=NAME, components=WEIGHTS, check=check, verbs=VERBS)
