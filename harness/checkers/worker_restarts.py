"""`worker_restarts`: a lost worker is replaced by one that draws anew; only lost envs are cut off, once a loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import (
    BUILDING_VERBS,
    POOL,
    AnswerChecker,
    envs_struck,
    is_judged_draw,
    named,
    restarts,
)
from harness.model.history import Event, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "worker_restarts"


def check(history: History) -> Judgement:
    """Judge the rows of all envs, and what each of them draws over its lives."""
    rows = list(_rows(history))
    draws = sum(map(is_judged_draw, history.events))
    findings = (*_surplus(history, rows), *_repeated(history))
    return Judgement(findings=findings, judged=len(rows) + draws)


def _rows(history: History) -> Iterator[tuple[Operation, Row]]:
    for op in history.operations:
        if op.op in ("step", "recv") and op.status == "ok":
            yield from ((op, row) for row in rows_of(op))


def _losses(history: History, env: int) -> int:
    return sum(1 for r in history.fault_records if r.reached and env in envs_struck(history, r))


def _surplus(history: History, rows: list[tuple[Operation, Row]]) -> Iterator[Finding]:
    """Envs that say more often that they were cut off than their workers were lost."""
    cut: dict[int, list[Operation]] = {}
    for op, row in rows:
        if row.cut_off:
            cut.setdefault(row.env, []).append(op)
    for env, ops in cut.items():
        lost = _losses(history, env)
        if len(ops) > lost:
            text = f"env {env} was cut off {len(ops)} times, the last time in {named(ops[-1])}, "
            yield Finding(
                checker=NAME,
                text=f"{text}and its worker was lost {lost} times",
                contract=Contract.EQUIVALENCE,
                events=ops[-1].events,
            )


def _repeated(history: History) -> Iterator[Finding]:
    """Envs that were made anew and draw what was drawn before, without having been seeded again."""
    begun = {op.invoked.seq: op.op for op in history.operations}
    lives: Counter[str] = Counter()  # how often the env of each role was made
    first: dict[int, tuple[tuple[str, int], Event]] = {}
    for event in history.events:
        verb = begun.get(event.seq)
        if verb in BUILDING_VERBS:
            lives.clear()
        if verb == "seed" or verb in BUILDING_VERBS:
            first.clear()
        elif event.kind is Kind.OBSERVE and event.op == "construct":
            lives[event.role] += 1
        if not is_judged_draw(event):
            continue
        life = (event.role, lives[event.role])
        before, earlier = first.setdefault(int(event.data["draw"]), (life, event))
        if before != life and lives[event.role] > 1:
            yield Finding(
                checker=NAME,
                text=f"{event.role} draws what {earlier.role} drew before a restart: its seed repeats",
                contract=Contract.EQUIVALENCE,
                events=(earlier.seq, event.seq),
            )


class _RestartChecker(AnswerChecker):
    """Applies where lost workers are to be replaced."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether they are."""
        return restarts(history) and super().applies(history)


CHECKER = _RestartChecker(name=NAME, components=POOL, check=check)
