"""`worker_restarts`: a lost worker is replaced by one that draws anew; only lost envs are cut off, once a loss."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import POOL, AnswerChecker, envs_struck, named, restarts
from harness.model.history import Event, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "worker_restarts"


def check(history: History) -> Judgement:
    """Judge the rows of all envs, and what each of them draws over its lives."""
    rows = list(_rows(history))
    draws = [e for e in history.of_kind(Kind.OBSERVE) if e.op == "reset" and "draw" in e.data]
    findings = (*_surplus(history, rows), *_repeated(draws))
    return Judgement(findings=findings, judged=len(rows) + len(draws))


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


def _repeated(draws: list[Event]) -> Iterator[Finding]:
    first: dict[int, Event] = {}
    for event in draws:
        earlier = first.setdefault(int(event.data["draw"]), event)
        if earlier is not event:
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
