"""What a scenario asks for that the probes' records cannot show: refused when its file is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.engine.usage import UsageError, shown
from harness.model import probe
from harness.model.scenario import Scenario

PACKED = frozenset({"scalar", "nested"})  # payloads in which a record is one number
STEPPING = frozenset({"step", "send", "compare", "rebuild"})
RESETTING = frozenset({"reset", "reset_where", "rebuild"})
LEVELLED = frozenset({"set_params", "build_anew"})


def check(scenario: Scenario[Any, Any], where: object) -> None:
    """Refuse what is more than a record holds; `where` names the scenario in errors.

    Raises:
        UsageError: there are too many actions, steps, episodes, envs or versions.
    """
    _check_races(scenario.steps, where)
    if scenario.component != "pool":
        return
    has_levels = any(getattr(step, "do", None) in LEVELLED for step in scenario.steps)
    for row in scenario.rows():
        limits = _limits(row.setup.payload, has_levels=has_levels)
        for name, place, amount in _needs(row.setup, scenario.steps):
            if amount > limits.get(name, amount):
                table = "matrix" if place in scenario.matrix else "setup"
                key = place if place == "steps" else f"{table}.{place}"
                problem = f"the probe shows {name} up to {limits[name]}"
                beside = f"payload {shown(row.setup.payload)}{' and levels' * has_levels}"
                raise UsageError(where, key, f"{problem} with {beside}, got {amount}")


def _check_races(steps: Sequence[Any], where: object) -> None:
    """A race's last version is one that float32 holds, too."""
    for i, step in enumerate(steps):
        last = getattr(step, "versions_from", 0) + getattr(step, "sends", 0) - 1
        if last > probe.EXACT_MAX:
            problem = f"versions go up to {probe.EXACT_MAX}, and these to {last}"
            raise UsageError(where, f"steps[{i}].versions_from", problem)


def _limits(payload: str, *, has_levels: bool) -> dict[str, int]:
    """The largest value of each field of a record, where it has one."""
    names = ("action", "step", "episode", "env_index") if payload in PACKED else ()
    found = {
        "episode": probe.EXACT_MAX // 1000 - 1,
        **{name: probe.packed_max(name) for name in names},
    }
    if has_levels:
        found["step"] = min(found.get("step", probe.LEVEL_UNIT), probe.LEVEL_UNIT // 2)
    return found


def _needs(setup: Any, steps: Sequence[Any]) -> Iterator[tuple[str, str, int]]:
    """What a row comes to at most: the field, the key that says so, its value."""
    frames = sum(
        step.frames * step.times for step in steps if getattr(step, "do", None) == "rollout"
    )
    stepped = _executions(steps, STEPPING)
    each = stepped + -(-frames // setup.num_envs)
    yield "env_index", "num_envs", setup.num_envs - 1
    yield "action", "steps", max(stepped * setup.num_envs - 1, frames)
    yield "step", "horizon", min(setup.horizon + setup.num_envs - 1, each)
    yield "episode", "steps", 1 + _executions(steps, RESETTING) + each // setup.horizon


def _executions(steps: Sequence[Any], verbs: frozenset[str]) -> int:
    made = (getattr(step, "during", step) for step in steps)
    return sum(getattr(verb, "times", 1) for verb in made if getattr(verb, "do", None) in verbs)
