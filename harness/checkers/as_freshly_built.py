"""`as_freshly_built`: after a change, data equals that of a pool that was built with the new parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import BUILDING_VERBS, POOL, AnswerChecker, named
from harness.checkers._walk import ANSWERING
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "as_freshly_built"
NORMAL_TOLERANCE = 1e-3
Trace = list[tuple[Operation, Row]]
_SHOWING = ANSWERING | {"reset"}
_APART = frozenset({"reset", "reset_where", "rollout"})


@dataclass(slots=True)
class _Run:
    """What all envs showed from a reset on, at one level."""

    level: int
    fresh: bool
    by_env: dict[int, Trace] = field(default_factory=dict)


def check(history: History) -> Judgement:
    """Compare, row by row from a reset on, what was changed with what was built so."""
    # How an episode ends may go by its number, which a pool that was built starts anew.
    by_turns = history.setup.get("ends") == "by_turns"
    findings: list[Finding] = []
    judged = 0
    for changed, fresh in _comparable(history):
        for env, trace in changed.by_env.items():
            pairs = list(zip(trace, fresh.by_env.get(env, ()), strict=False))
            judged += len(pairs)
            both = (_compared(*each, by_turns=by_turns) for each in pairs)
            findings += [found for found in both if found]
    return Judgement(findings=tuple(findings), judged=judged)


def _comparable(history: History) -> Iterator[tuple[_Run, _Run]]:
    """What was changed, with each of what was built as it was changed to be."""
    runs = list(_runs(history))
    for fresh in (run for run in runs if run.fresh):
        for changed in (run for run in runs if not run.fresh and run.level == fresh.level):
            yield changed, fresh


def _runs(history: History) -> Iterator[_Run]:
    """Runs at a level that all envs have, each from a reset of all to the next change."""
    built_at, fresh = 0, True
    level: int | None = built_at  # None: some envs have another than the others
    run: _Run | None = None
    for op in history.operations:
        if op.op in BUILDING_VERBS:
            built_at = int(op.arguments.get("level", built_at))
            level, fresh, run = built_at, True, None
        elif op.op == "set_params":
            of_all = op.status == "ok" and len(op.arguments["envs"]) == history.setup["num_envs"]
            level, fresh, run = int(op.arguments["level"]) if of_all else None, False, None
        elif op.op == "reset" and op.status == "ok" and level is not None:
            run = _Run(level=level, fresh=fresh)
            yield run
        elif op.op in _APART or (op.op in ANSWERING and op.status != "ok"):
            run = None  # what envs show from here on depends on more than their parameters
        if run is not None and op.op in _SHOWING:
            for row in rows_of(op):
                run.by_env.setdefault(row.env, []).append((op, row))


def _compared(
    ours: tuple[Operation, Row], theirs: tuple[Operation, Row], *, by_turns: bool
) -> Finding | None:
    (here, mine), (there, other) = ours, theirs
    ends = ("ended",) if by_turns else ("terminated", "truncated")
    unequal = [
        f"{name} is {getattr(mine, name)}, not {getattr(other, name)}"
        for name in ("reward", *ends, "normal")
        if not _equal(getattr(mine, name), getattr(other, name))
    ]
    if not unequal:
        return None
    return Finding(
        checker=NAME,
        text=f"env {mine.env} in {named(here)}: {'; '.join(unequal)}, which {named(there)} of a "
        "pool that was built with these parameters shows",
        contract=Contract.EQUIVALENCE,
        events=(*here.events, *there.events),
    )


def _equal(mine: float | None, other: float | None) -> bool:
    if mine is None or other is None:
        return mine is other
    return math.isclose(mine, other, rel_tol=0.0, abs_tol=NORMAL_TOLERANCE)


class _FreshChecker(AnswerChecker):
    """Applies where there is a pool to compare with: one that was built at a level that another was changed to."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether parameters were changed, and a pool was built with the same."""
        both = {"set_params", "build_anew"} <= history.verbs and any(_comparable(history))
        return both and super().applies(history)


CHECKER = _FreshChecker(name=NAME, components=POOL, check=check)
