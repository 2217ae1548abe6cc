"""`episode_model`: every field of every transition equals a pure model of the probe env."""

from __future__ import annotations

from collections.abc import Sequence

from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import (
    BUILDING_VERBS,
    POOL,
    AnswerChecker,
    named,
    resets_in_step,
    restarts,
)
from harness.checkers._transitions import Model
from harness.checkers._walk import PassedOver, Restart, Transition, moves
from harness.model.history import History, Operation
from harness.model.probe import Observation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "episode_model"


def check(history: History) -> Judgement:
    """Judge every answer of steps and resets, and every collected transition."""
    model = Model(
        horizon=int(history.setup["horizon"]),
        same_step=resets_in_step(history),
        ends=str(history.setup.get("ends", "split")),
        restarts=restarts(history),
        levels=not history.verbs.isdisjoint({"set_params", "build_anew"}),
    )
    findings: list[Finding] = []
    judged = 0
    for move in moves(history):
        wrong = _wrong(model, move)
        if wrong is None:
            continue
        judged += 1
        env = move.row.env if isinstance(move, Transition) else move.env
        findings += _finding(move.operation, env, wrong)
    for op, env, wrong in _collected(model, history.operations):
        judged += 1
        findings += _finding(op, env, wrong)
    return Judgement(findings=tuple(findings), judged=judged)


def _wrong(model: Model, move: Transition | Restart | PassedOver) -> list[str] | None:
    """What is wrong with a move; None if it is not for this checker to say."""
    match move:
        case Transition():
            seen = move.row.landed(same_step=model.same_step)
            if seen is not None and seen.env_index != move.row.env:
                return None
            return model.of_step(move.row, move.before, due=move.due)
        case Restart():
            if move.row is None:
                return ["no row answers the reset"] if move.operation.op == "reset" else None
            return model.of_restart(move.row, move.before)
        case PassedOver():
            return None


def _collected(
    model: Model, operations: Sequence[Operation]
) -> list[tuple[Operation, int, list[str]]]:
    """Judge rollouts: a batch may start anywhere in an episode, but never before the one before."""
    judged = []
    latest: dict[int, Observation] = {}
    for op in operations:
        if op.op in BUILDING_VERBS:
            latest.clear()  # the next pool's envs count from their own beginning
        if op.op != "rollout" or op.status != "ok":
            continue
        before: dict[int, Row] = {}
        for row in rows_of(op):
            wrong = model.of_rollout(row, before.get(row.env))
            seen = latest.get(row.env)
            if row.env not in before and _goes_back(seen, row.observation):
                wrong.append("starts before the end of the batch before it")
            judged.append((op, row.env, wrong))
            before[row.env] = row
            if row.final is not None:
                latest[row.env] = row.final
    return judged


def _goes_back(seen: Observation | None, start: Observation | None) -> bool:
    if seen is None or start is None or seen.incarnation != start.incarnation:
        return False
    return (start.episode, start.step) < (seen.episode, seen.step)


def _finding(operation: Operation, env: int, wrong: list[str]) -> list[Finding]:
    if not wrong:
        return []
    return [
        Finding(
            checker=NAME,
            text=f"env {env} in {named(operation)}: {'; '.join(wrong)}",
            contract=Contract.EQUIVALENCE,
            events=operation.events,
        )
    ]


CHECKER = AnswerChecker(
    name=NAME,
    components=POOL,
    check=check,
    verbs=frozenset({"reset", "reset_where", "step", "recv", "rollout"}),
)
