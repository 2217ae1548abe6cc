"""`transforms_reinitialised`: statistics are those of the new parameters before the next transition."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import POOL, AnswerChecker, named
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "transforms_reinitialised"
FARTHEST = 8.0
"""How far from 0 a normalised level is, at most: it moves by a quarter a step, over a few steps, by its own spread."""


def check(history: History) -> Judgement:
    """Judge the normalised level of each row, wherever the statistics should fit it."""
    findings: list[Finding] = []
    judged = 0
    for op, row in _fitting(history):
        judged += 1
        assert row.normal is not None
        if not abs(row.normal) <= FARTHEST:
            text = f"env {row.env} in {named(op)} shows its level as {row.normal:.6g} spreads from the mean: "
            findings.append(
                Finding(
                    checker=NAME,
                    text=f"{text}the statistics are those of other parameters",
                    contract=Contract.EQUIVALENCE,
                    events=op.events,
                )
            )
    return Judgement(findings=tuple(findings), judged=judged)


def _fitting(history: History) -> Iterator[tuple[Operation, Row]]:
    """Rows of steps; those of envs that were changed without their statistics are left out."""
    stale: set[int] = set()
    for op in history.operations:
        if op.op == "set_params" and op.status == "ok":
            envs = set(op.arguments["envs"])
            stale = stale - envs if op.arguments.get("reinit") else stale | envs
        elif op.op in ("step", "recv") and op.status == "ok":
            for row in rows_of(op):
                if row.normal is not None and row.env not in stale:
                    yield op, row


class _StatisticsChecker(AnswerChecker):
    """Applies where statistics were to be made anew."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether they were."""
        asked = any(
            op.op == "set_params" and op.arguments.get("reinit") for op in history.operations
        )
        return asked and super().applies(history)


CHECKER = _StatisticsChecker(
    name=NAME, components=POOL, check=check, verbs=frozenset({"set_params"})
)
