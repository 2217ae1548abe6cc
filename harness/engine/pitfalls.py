"""What a scenario may say that makes sense and yet can show nothing: refused when its file is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.checkers.bounded_memory import MARKS_MIN
from harness.checkers.idle_when_blocked import SECONDS_MIN
from harness.engine.meter import SETTLE_S
from harness.engine.usage import UsageError
from harness.model.scenario import Expected, Heal, Phase, Scenario


def check(scenario: Scenario[Any, Any], where: object) -> None:
    """Refuse what could show nothing; `where` names the scenario in errors.

    Raises:
        UsageError: a wait is too short to be measured, a fault can never strike, growth is looked
            for in too few marks, or nothing comes after the faults.
    """
    for i, step in enumerate(scenario.steps):
        for_s = getattr(step, "for_s", 0.0)
        if 0.0 < for_s < SETTLE_S + SECONDS_MIN:
            problem = f"at least {SETTLE_S + SECONDS_MIN:g}: less is not measured, got {for_s:g}"
            raise UsageError(where, f"steps[{i}].for_s", problem)
        if _is_spent(step, scenario.steps[:i]):
            problem = "a fault before it strikes the same, and this one never does"
            raise UsageError(where, f"steps[{i}]", problem)
    marks = [i for i, step in enumerate(scenario.steps) if getattr(step, "do", None) == "mark"]
    if 0 < len(marks) < MARKS_MIN:
        problem = f"growth is judged from {MARKS_MIN} marks, the scenario has {len(marks)}"
        raise UsageError(where, f"steps[{marks[0]}].do", problem)
    faults = [step for step in scenario.steps if hasattr(step, "fault")]
    if scenario.expect.outcomes == (Expected.RECOVERS,) and faults and not _ends(scenario.steps):
        problem = "recovers needs a heal, or a phase converge, after which calls are judged"
        raise UsageError(where, "expect.outcome", problem)


def _ends(steps: Sequence[Any]) -> bool:
    """Whether faults are over at some point."""
    return any(
        isinstance(step, Heal)
        or (isinstance(step, Phase) and step.phase == "converge")
        or getattr(step, "for_s", 0.0) > 0.0
        for step in steps
    )


def _is_spent(step: Any, before: Sequence[Any]) -> bool:
    """Whether a fault of a worker's operation meets another there that was armed in one go with it."""
    spot = _spot(step)
    if spot is None:
        return False
    for earlier in reversed(before):
        if hasattr(earlier, "do"):
            return False  # what it did is counted for the one and not for the other
        if _spot(earlier) == spot:
            return True
    return False


def _spot(step: Any) -> tuple[object, ...] | None:
    """The operation of a worker that a fault strikes."""
    at = getattr(step, "placement", None)
    if at is None or at.role == "driver":
        return None
    return at.role, at.op, at.k, at.edge
