"""`same_workers`: new parameters reach the workers that there are; none is replaced for it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._rows import rows_of
from harness.checkers._shared import BUILDING_VERBS, POOL, AnswerChecker, named
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "same_workers"


def check(history: History) -> Judgement:
    """Compare, for each change, the processes that envs live in before and after it."""
    changes = [op for op in history.operations if op.op == "set_params" and op.status == "ok"]
    return Judgement(
        findings=tuple(found for op in changes for found in _replaced(history, op)),
        judged=len(changes),
    )


def _replaced(history: History, change: Operation) -> Iterator[Finding]:
    before, after = _around(history, change)
    moved = sorted(env for env in before.keys() & after.keys() if before[env] != after[env])
    if moved:
        text = f"after {named(change)} envs {moved} live in other processes than before"
        yield Finding(checker=NAME, text=text, contract=Contract.EQUIVALENCE, events=change.events)


def _around(history: History, change: Operation) -> tuple[dict[int, int], dict[int, int]]:
    """By env, the process that it was last seen in before the change, and first after it."""
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for op in history.operations:
        earlier = op.invoked.seq < change.invoked.seq
        if op.op in BUILDING_VERBS:
            if not earlier:
                break
            before.clear()
        if op.op == "construct" and op.status == "ok":
            before = dict(enumerate(op.result["pids"]))
        elif op is change:
            after = dict(enumerate(op.result["pids"]))
        for row in rows_of(op) if op.status == "ok" and op.op in ("reset", "step", "recv") else ():
            if row.observation is not None and earlier:
                before[row.env] = row.observation.incarnation
            elif row.observation is not None:
                after.setdefault(row.env, row.observation.incarnation)
    return before, after


class _SameWorkersChecker(AnswerChecker):
    """Applies where no fault may cost a worker."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether parameters were changed, and nothing else happened."""
        changed = any(op.op == "set_params" and op.status == "ok" for op in history.operations)
        return changed and not history.faults and super().applies(history)


CHECKER = _SameWorkersChecker(
    name=NAME, components=POOL, check=check, verbs=frozenset({"set_params"})
)
