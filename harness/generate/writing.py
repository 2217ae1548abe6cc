"""A scenario as the file that a person would write: what goes without saying is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

from harness.model.plain import to_plain
from harness.model.scenario import Heal, Scenario

TAGS = ("do", "fault", "heal", "phase")  # what says of which kind a step is: never left out


def to_toml(scenario: Scenario[Any, Any]) -> str:
    """The text of a scenario's file; loading it gives an equal scenario.

    Values that are defaults are left out, and so are ids of faults that nothing refers to; what is
    expected is always said.
    """
    head = {"title": scenario.title, "component": scenario.component}
    tables = [_lines({**head, **({"seen_in": scenario.seen_in} if scenario.seen_in else {})})]
    setup = _told(scenario.setup)
    if setup:
        tables.append(["[setup]", *_lines(setup)])
    if scenario.matrix:
        tables.append(["[matrix]", *_lines(scenario.matrix)])
    tables += [["[[steps]]", *_lines(step)] for step in _steps(scenario.steps)]
    tables.append(["[expect]", *_lines({"outcome": scenario.expect.outcome})])
    return "\n\n".join("\n".join(table) for table in tables) + "\n"


def _steps(steps: Sequence[Any]) -> list[dict[str, Any]]:
    healed = {step.heal for step in steps if isinstance(step, Heal)}
    found = []
    count = 0
    for step in steps:
        told = _told(step)
        if hasattr(step, "fault"):
            count += 1
            if step.id == f"f{count}" and step.id not in healed:
                told.pop("id", None)  # the loader gives it
        found.append(told)
    return found


def _told(value: Any) -> dict[str, Any]:
    """What a file has to say of a dataclass: its kind first, then whatever is not a default."""
    told = {f.name: getattr(value, f.name) for f in fields(value) if f.name in TAGS}
    for field in fields(value):
        given = getattr(value, field.name)
        if field.name not in told and given is not None and given != _default(field):
            told[field.name] = _told(given) if hasattr(given, "__dataclass_fields__") else given
    return told


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_value(to_plain(value))}" for key, value in table.items()]


def _value(plain: Any) -> str:
    if isinstance(plain, Mapping):
        return f"{{ {', '.join(f'{key} = {_value(value)}' for key, value in plain.items())} }}"
    if isinstance(plain, list):
        return f"[{', '.join(map(_value, plain))}]"
    if isinstance(plain, str):
        # JSON's strings are TOML's but for one character, which TOML wants escaped.
        return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(plain)
