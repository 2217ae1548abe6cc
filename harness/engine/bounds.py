"""How large the numbers of a scenario may be: a deadline that never comes is the file's mistake, not a backend's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from harness.engine.usage import UsageError
from harness.model import probe
from harness.model.scenario import Scenario

DAY_S = 86_400.0
MANY = 1_000_000
WORKERS_MAX = 1024  # more would take the machine down before any deadline
WORD_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Bound:
    """What a number may be.

    Attributes:
        least: the smallest value, or what it has to be more than if `above`.
        most: the largest.
        above: whether `least` itself is too small.
    """

    least: float
    most: float
    above: bool = False

    def broken_by(self, value: float) -> str | None:
        """What is wrong with a value, if anything; nan is within no bounds."""
        if not math.isfinite(value):
            return f"a finite number, got {value}"
        if value < self.least or (self.above and value == self.least):
            return (
                f"{'more than' if self.above else 'at least'} {self.least:.10g}, got {value:.10g}"
            )
        return f"at most {self.most:.10g}, got {value:.10g}" if value > self.most else None


_SECONDS, _DEADLINE = Bound(0, DAY_S), Bound(0, DAY_S, above=True)
_COUNT, _WORKERS = Bound(1, MANY), Bound(1, WORKERS_MAX)
_NATURAL = Bound(0, WORD_MAX)

BOUNDS: Mapping[str, Bound] = {
    **dict.fromkeys(("within_s", "start_within_s", "bound_s", "seconds"), _DEADLINE),
    **dict.fromkeys(("timeout_s", "for_s", "after_s"), _SECONDS),
    **dict.fromkeys(("num_envs", "num_workers"), _WORKERS),
    **dict.fromkeys(("horizon", "capacity", "width", "slice_len", "ahead_size"), _COUNT),
    **dict.fromkeys(("times", "frames", "rows", "batches", "size", "sends"), _COUNT),
    **dict.fromkeys(("version", "versions", "versions_from"), Bound(1, probe.EXACT_MAX)),
    **dict.fromkeys(("value", "spare", "meets"), _NATURAL),
    "numel": Bound(1, WORD_MAX),
    "level": Bound(0, probe.LEVEL_MAX),
    "prefetch": Bound(0, WORKERS_MAX),
    "code": Bound(0, 255),
}
ELSEWHERE = frozenset({"worker", "writer", "k", "min_get", "refused_by"})
"""Numbers whose bounds depend on the rest of the scenario: `harness.engine.sense` knows them."""


def check(scenario: Scenario[Any, Any], where: object) -> None:
    """Look for the first number that is too small, too large, or none.

    Raises:
        UsageError: there is one.
    """
    for row in scenario.rows():
        _check_fields(row.setup, {key: f"matrix.{key}" for key in scenario.matrix}, "setup", where)
    for i, step in enumerate(scenario.steps):
        _check_fields(step, {}, f"steps[{i}]", where)


def _check_fields(part: Any, places: Mapping[str, str], place: str, where: object) -> None:
    for field in fields(part):
        value = getattr(part, field.name)
        key = places.get(field.name, f"{place}.{field.name}")
        if is_dataclass(value):
            _check_fields(value, {}, key, where)
        if field.name not in BOUNDS:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            problem = BOUNDS[field.name].broken_by(each) if isinstance(each, int | float) else None
            if problem is not None:
                raise UsageError(where, key, problem)
