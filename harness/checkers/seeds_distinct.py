"""`seeds_distinct`: first draws differ between envs, repeat with the base seed, and are no other seed's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.checkers._shared import (
    BUILDING_VERBS,
    POOL,
    AnswerChecker,
    is_judged_draw,
    named,
)
from harness.model.history import Event, History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "seeds_distinct"
DRAWING = frozenset({"reset", "reset_where", "rollout", "compare"})


@dataclass(slots=True, eq=False)
class _Seeding:
    """A base seed that was given, and the first draw of each env after it."""

    operation: Operation
    base: int
    draws: dict[str, Event] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, int]:
        """The draws, by role."""
        return {role: int(event.data["draw"]) for role, event in self.draws.items()}

    def shared_with(self, other: _Seeding) -> list[tuple[str, str]]:
        """Roles here and there that drew the same."""
        return [
            (here, there)
            for here, value in self.values.items()
            for there, same in other.values.items()
            if value == same
        ]


def check(history: History) -> Judgement:
    """Judge what each env drew at its first reset after each seeding."""
    seedings = _seedings(history)
    findings: list[Finding] = []
    for i, seeding in enumerate(seedings):
        findings += _equal_envs(seeding)
        for earlier in seedings[:i]:
            findings += _against(earlier, seeding)
    return Judgement(findings=tuple(findings), judged=sum(len(s.draws) for s in seedings))


def _seedings(history: History) -> list[_Seeding]:
    """Those that succeeded; a gymnasium env draws within the seeding, others at the next reset."""
    started = {op.invoked.seq: op for op in history.operations}
    found: list[_Seeding] = []
    last: _Seeding | None = None  # of the pool that there is
    for event in history.events:
        operation = started.get(event.seq)
        if operation is not None and operation.op == "seed":
            last = _Seeding(operation=operation, base=int(operation.arguments["value"]))
            found.append(last)
        elif operation is not None and operation.op in BUILDING_VERBS:
            last = None
        elif last is not None and is_judged_draw(event):
            last.draws.setdefault(event.role, event)
    return [seeding for seeding in found if seeding.operation.status == "ok"]


def _equal_envs(seeding: _Seeding) -> Iterator[Finding]:
    by_value: dict[int, list[str]] = {}
    for role, value in seeding.values.items():
        by_value.setdefault(value, []).append(role)
    for roles in by_value.values():
        if len(roles) > 1:
            text = f"after {_said(seeding)} {' and '.join(sorted(roles))} drew the same"
            yield _finding(text, seeding)


def _against(earlier: _Seeding, later: _Seeding) -> Iterator[Finding]:
    if earlier.base == later.base:
        for role in sorted(earlier.values.keys() & later.values.keys()):
            if earlier.values[role] != later.values[role]:
                text = f"{role} drew differently after {_said(earlier)} and {_said(later)}"
                yield _finding(text, earlier, later)
        return
    for here, there in earlier.shared_with(later):
        text = f"{there} draws after {_said(later)} what {here} drew after {_said(earlier)}: "
        yield _finding(f"{text}runs with neighbouring seeds are not independent", earlier, later)


def _said(seeding: _Seeding) -> str:
    return f"base seed {seeding.base} ({named(seeding.operation)})"


def _finding(text: str, *seedings: _Seeding) -> Finding:
    events = tuple(
        seq
        for seeding in seedings
        for seq in (*seeding.operation.events, *(e.seq for e in seeding.draws.values()))
    )
    return Finding(checker=NAME, text=text, contract=Contract.EQUIVALENCE, events=events)


class _SeedChecker(AnswerChecker):
    """Applies where some seeding succeeded, and its envs were reset; one that raised is `expected_outcome`'s."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether seeded envs had to draw."""
        seeded = drew = False
        for op in history.operations:
            if op.op == "seed" or op.op in BUILDING_VERBS:
                seeded = op.op == "seed" and op.status == "ok"
            drew |= seeded and op.op in DRAWING
        return drew and super().applies(history)


CHECKER = _SeedChecker(name=NAME, components=POOL, check=check, verbs=frozenset({"seed"}))
