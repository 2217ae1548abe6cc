"""`no_torn_forward`: one forward sees one weights version, in every tensor and buffer."""

from __future__ import annotations

from harness.checkers._shared import WEIGHTS, AnswerChecker, named
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "no_torn_forward"


def check(history: History) -> Judgement:
    """Compare, in each row, the versions at both ends of the parameter and in the buffer."""
    rows = [(op, row) for op in history.operations if op.op == "forward" for row in op.rows]
    findings = tuple(
        Finding(
            checker=NAME,
            text=f"{named(op)} of worker {row['worker']} read version {row['first']} at the start "
            f"of the parameter, {row['last']} at its end and {row['buffer']} in the buffer",
            contract=Contract.EQUIVALENCE,
            events=op.events,
        )
        for op, row in rows
        if not row["first"] == row["last"] == row["buffer"]
    )
    return Judgement(findings=findings, judged=len(rows))


CHECKER = AnswerChecker(name=NAME, components=WEIGHTS, check=check, verbs=frozenset({"forward"}))
