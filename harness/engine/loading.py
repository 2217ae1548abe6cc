"""Reads scenario files: TOML, validated against the verbs' and faults' dataclasses.

Every mistake is one line naming file, key and value; unknown keys are refused, nothing is coerced.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import ConfigDict, Discriminator, Tag, TypeAdapter, ValidationError

from harness.engine import limits, pitfalls
from harness.engine.components import COMPONENTS, Component
from harness.engine.places import is_scenario
from harness.engine.sense import check
from harness.engine.tables import tables
from harness.engine.usage import UsageError, shown
from harness.model.scenario import Expect, Heal, Phase, Placement, Row, Scenario, row_id

KINDS = ("do", "fault", "heal", "phase")
UNKNOWN_KEY = "unexpected_keyword_argument"  # pydantic's name for it
_TAGS = ("do=", "fault=", "tuple[", "str-enum[")  # what pydantic puts into a location


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A scenario with where it came from."""

    path: Path
    scenario: Scenario[Any, Any]

    @property
    def name(self) -> str:
        """The behaviour, as the file is called."""
        return self.path.stem

    @property
    def component(self) -> Component:
        """Its port."""
        return COMPONENTS[self.scenario.component]

    @property
    def name_id(self) -> str:
        """What names it among those of all components: `pool/clean_run`."""
        return f"{self.component.name}/{self.name}"

    def row_id(self, row: Row[Any]) -> str:
        """What names this row on any backend."""
        return row_id(self.component.name, self.name, row.key)

    def row_ids(self) -> tuple[str, ...]:
        """Those of all rows."""
        return tuple(map(self.row_id, self.scenario.rows()))


def load(path: Path) -> Loaded:
    """Read one file.

    Raises:
        UsageError: it cannot be read, or says something that makes no sense.
    """
    try:
        plain = tables(path)
    except OSError as error:
        raise UsageError(path, "", error.strerror or str(error)) from error
    return Loaded(path=path, scenario=parse(plain, path))


def parse(plain: Mapping[str, Any], where: object) -> Scenario[Any, Any]:
    """Validate a scenario in its plain form; `where` names it in errors.

    Raises:
        UsageError: the first mistake in it.
    """
    component = _component(plain, where)
    plain = {"setup": {}, **plain}
    _one_kind_a_step(plain, where)
    try:
        (scenario,) = adapter(component.name).validate_json(json.dumps([plain]), strict=True)
    except ValidationError as error:
        raise _first_mistake(error, component, where) from None
    except TypeError as error:
        raise UsageError(where, "", f"a scenario holds no such value: {error}") from None
    scenario = _with_ids(scenario)
    check(scenario, plain["setup"], component, where)
    pitfalls.check(scenario, where)
    limits.check(scenario, where)
    return scenario


@functools.cache
def adapter(component: str) -> TypeAdapter[tuple[Scenario[Any, Any]]]:
    """Validates scenarios of a component, each as the one element of a list."""
    found = COMPONENTS[component]
    kinds: dict[str, type[Any]] = {
        **{f"do={name}": cls for name, cls in found.verbs.items()},
        **{f"fault={name}": cls for name, cls in found.faults.items()},
        "heal": Heal,
        "phase": Phase,
    }
    tagged = tuple(Annotated[cls, Tag(tag)] for tag, cls in kinds.items())
    step = Annotated[Union[tagged], Discriminator(_tag)]  # type: ignore[valid-type] # noqa: UP007 - built at run time
    config = ConfigDict(extra="forbid")
    form: Any = tuple[Scenario[found.setup, step]]  # type: ignore[name-defined] # built at run time
    return TypeAdapter(form, config=config)


def _tag(step: Any) -> str | None:
    """Which dataclass a step in plain form is for."""
    for kind in KINDS:
        value = step.get(kind) if isinstance(step, Mapping) else getattr(step, kind, None)
        if value is not None:
            return kind if kind in ("heal", "phase") else f"{kind}={value}"
    return None


def schema(component: str) -> dict[str, Any]:
    """The JSON Schema of a component's scenario files."""
    whole = adapter(component).json_schema()
    one: dict[str, Any] = whole["prefixItems"][0]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A {component} scenario",
        "$defs": whole["$defs"],
        **one,
    }


def _component(plain: Mapping[str, Any], where: object) -> Component:
    name = plain.get("component")
    if not isinstance(name, str) or name not in COMPONENTS:
        known = ", ".join(COMPONENTS)
        raise UsageError(where, "component", f"must be one of {known}, got {shown(name)}")
    return COMPONENTS[name]


def _one_kind_a_step(plain: Mapping[str, Any], where: object) -> None:
    steps = plain.get("steps")
    if not isinstance(steps, Sequence) or not steps:
        raise UsageError(where, "steps", "a scenario has at least one step")
    for i, step in enumerate(steps):
        kinds = [kind for kind in KINDS if isinstance(step, Mapping) and kind in step]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise UsageError(
                where, f"steps[{i}]", f"exactly one of {', '.join(KINDS)}, got {found}"
            )


def _first_mistake(error: ValidationError, component: Component, where: object) -> UsageError:
    """The mistake that tells most: an unknown key explains a missing one."""
    mistakes = error.errors(include_url=False)
    first = next((m for m in mistakes if m["type"] == UNKNOWN_KEY), mistakes[0])
    location = first["loc"][1:]
    key, problem, found = _key(location), str(first["msg"]), first.get("input")
    got = f", got {shown(found)}"
    if first["type"] == "union_tag_invalid":
        kind = next(kind for kind in KINDS if kind in first["input"])
        tags = str(first.get("ctx", {}).get("expected_tags", "")).replace("'", "").split(", ")
        known = ", ".join(tag.partition("=")[2] for tag in tags if tag.startswith(f"{kind}="))
        key = f"{key}.{kind}"
        problem, got = f"unknown, must be one of {known}", f", got {shown(first['input'][kind])}"
    elif first["type"] == UNKNOWN_KEY:
        problem = f"unknown key{_known_keys(component, location)}"
    elif first["type"] == "missing":
        problem, got = "is missing", ""
    count = len({_key(m["loc"][1:]) for m in mistakes}) - 1  # a value may fit neither of two types
    more = f" (and {count} more mistake{'s' * (count > 1)})" if count else ""
    return UsageError(where, key, f"{problem}{got}{more}")


def _known_keys(component: Component, location: tuple[int | str, ...]) -> str:
    """Which keys there are instead, where the location says what it is about."""
    kinds = {
        **{f"do={name}": cls for name, cls in component.verbs.items()},
        **{f"fault={name}": cls for name, cls in component.faults.items()},
        "setup": component.setup,
        "at": Placement,
        "expect": Expect,
    }
    inner = next((kinds[str(part)] for part in reversed(location[:-1]) if str(part) in kinds), None)
    if inner is None and len(location) > 1:
        return ""
    names = [field.name for field in fields(inner or Scenario) if field.name not in KINDS]
    return f" (known are {', '.join(names)})"


def _key(location: tuple[int | str, ...]) -> str:
    """`steps[2].at.k`: as the file has it, without pydantic's own tags."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith(_TAGS) and not text.endswith(f".{part}"):
            text += f".{part}" if text else part
    return text


def _with_ids(scenario: Scenario[Any, Any]) -> Scenario[Any, Any]:
    """Faults without an id are numbered: f1, f2, ..."""
    count = 0
    steps = []
    for step in scenario.steps:
        if hasattr(step, "fault"):
            count += 1
            steps.append(step if step.id else replace(step, id=f"f{count}"))
        else:
            steps.append(step)
    return replace(scenario, steps=tuple(steps))


def find(paths: Sequence[Path]) -> list[Path]:
    """Scenario files among paths: files as they are, directories by what lies in them.

    Raises:
        UsageError: a path does not exist, or there is no scenario at all.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(path, "", "no such file or directory")
        found += _below(path) if path.is_dir() else [path]
    if not found:
        raise UsageError(" ".join(map(str, paths)), "", "no scenario files there")
    return list({path.resolve(): path for path in found}.values())


def _below(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.rglob("*.toml")) if is_scenario(path)]
