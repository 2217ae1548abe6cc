"""Reads scenario files: TOML, validated against the verbs' and faults' dataclasses.

Every mistake is one line naming file, key and value; unknown keys are refused, nothing is coerced.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import ConfigDict, Discriminator, Tag, TypeAdapter, ValidationError

from harness.engine.components import COMPONENTS, Component
from harness.engine.places import is_scenario
from harness.engine.usage import UsageError
from harness.model.scenario import Expect, Heal, Phase, Placement, Row, Scenario, cell_id
from harness.ports.entries import Compare

KINDS = ("do", "fault", "heal", "phase")
UNKNOWN_KEY = "unexpected_keyword_argument"  # pydantic's name for it
_TAGS = ("do=", "fault=", "tuple[", "str-enum[")  # what pydantic puts into a location
VALUE_MAX = 80  # characters of an offending value that are shown


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

    def row_id(self, row: Row[Any]) -> str:
        """What names this row on any backend: a cell's id without one."""
        return cell_id(self.component.name, self.name, row.key, "").removesuffix("@")

    def row_ids(self) -> tuple[str, ...]:
        """Those of all rows."""
        return tuple(map(self.row_id, self.scenario.rows()))


def load(path: Path) -> Loaded:
    """Read one file.

    Raises:
        UsageError: it cannot be read, or says something that makes no sense.
    """
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(path, "", error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(path, "", f"not valid TOML: {error}") from error
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
    _check_matrix(scenario, component, where)
    _check_steps(scenario, component, where)
    _check_comparisons(scenario, where)
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
        raise UsageError(where, "component", f"must be one of {known}, got {_shown(name)}")
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
    got = f", got {_shown(found)}"
    if first["type"] == "union_tag_invalid":
        kind = next(kind for kind in KINDS if kind in first["input"])
        tags = str(first.get("ctx", {}).get("expected_tags", "")).replace("'", "").split(", ")
        known = ", ".join(tag.partition("=")[2] for tag in tags if tag.startswith(f"{kind}="))
        key = f"{key}.{kind}"
        problem, got = f"unknown, must be one of {known}", f", got {_shown(first['input'][kind])}"
    elif first["type"] == UNKNOWN_KEY:
        problem = f"unknown key{_known_keys(component, location)}"
    elif first["type"] == "missing":
        problem, got = "is missing", ""
    count = len(mistakes) - 1
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


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= VALUE_MAX else text[: VALUE_MAX - 3] + "..."


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


def _check_matrix(scenario: Scenario[Any, Any], component: Component, where: object) -> None:
    known = [field.name for field in fields(component.setup)]
    validate = TypeAdapter(component.setup).validate_json
    for key, values in scenario.matrix.items():
        if key not in known:
            problem = f"no such setup key {_shown(key)}, must be one of {', '.join(known)}"
            raise UsageError(where, f"matrix.{key}", problem)
        if not values:
            raise UsageError(where, f"matrix.{key}", "a list of at least one value, got []")
        for value in values:
            try:
                validate(json.dumps({key: value}), strict=True)
            except ValidationError as error:
                problem = str(error.errors()[0]["msg"])
                raise UsageError(
                    where, f"matrix.{key}", f"{problem}, got {_shown(value)}"
                ) from None


def _check_steps(scenario: Scenario[Any, Any], component: Component, where: object) -> None:
    ids = Counter(step.id for step in scenario.steps if hasattr(step, "fault"))
    sizes = {row.setup.num_envs for row in scenario.rows() if hasattr(row.setup, "num_envs")}
    for i, step in enumerate(scenario.steps):
        before = {each.id for each in scenario.steps[:i] if hasattr(each, "fault")}
        if isinstance(step, Heal) and step.heal not in before:
            problem = f"no fault before it has the id {_shown(step.heal)}"
            raise UsageError(where, f"steps[{i}].heal", problem)
        if hasattr(step, "fault") and ids[step.id] > 1:
            raise UsageError(where, f"steps[{i}].id", f"two faults have the id {_shown(step.id)}")
        if getattr(step, "mask", None) is not None and {len(step.mask)} != sizes:
            problem = f"one entry an env, num_envs is {sorted(sizes)}, got {len(step.mask)} entries"
            raise UsageError(where, f"steps[{i}].mask", problem)
        if getattr(step, "do", None) == "leave" and i + 1 < len(scenario.steps):
            problem = f"leave is the last step, {len(scenario.steps) - i - 1} come after it"
            raise UsageError(where, f"steps[{i}].do", problem)
        if getattr(step, "times", 1) < 1:
            raise UsageError(where, f"steps[{i}].times", f"at least 1, got {step.times}")
        if getattr(step, "placement", None) is not None:
            _check_placement(scenario, component, i, where)
        _check_transfer(scenario, step, f"steps[{i}]", where)
        during = getattr(step, "during", None)
        if during is not None and step.bound_s >= during.within_s:
            problem = f"below the deadline of what runs during it, {during.within_s:g} s"
            raise UsageError(where, f"steps[{i}].bound_s", f"{problem}, got {step.bound_s:g}")


def _check_comparisons(scenario: Scenario[Any, Any], where: object) -> None:
    """A twin makes the calls that are compared, and no others; it says what is an env's own of some payloads."""
    verbs = [(i, step) for i, step in enumerate(scenario.steps) if hasattr(step, "do")]
    if not any(isinstance(step, Compare) for _, step in verbs):
        return
    for i, step in verbs:
        if step.do not in Compare.BESIDE:
            known = ", ".join(sorted(Compare.BESIDE))
            problem = f"where calls are compared there are only {known}, got {_shown(step.do)}"
            raise UsageError(where, f"steps[{i}].do", problem)
    for setup in _setups(scenario):
        if setup.payload not in Compare.PAYLOADS:
            known = ", ".join(sorted(Compare.PAYLOADS))
            problem = f"what is compared is one of {known}, got {_shown(setup.payload)}"
            raise UsageError(where, "setup.payload", problem)


def _check_placement(
    scenario: Scenario[Any, Any], component: Component, i: int, where: object
) -> None:
    """A fault on the driver has to be met by the steps after it; one on a worker needs such an operation."""
    fault = scenario.steps[i]
    at = fault.placement
    key = f"steps[{i}].at"
    if at.k < 1:
        raise UsageError(where, f"{key}.k", f"counts from 1, got {at.k}")
    _check_role(scenario, fault, at.role, f"{key}.role", where)
    known = fault.ops if at.role == "driver" else component.worker_ops
    if known and at.op not in known:
        who = (
            "it strikes the driver's"
            if at.role == "driver"
            else f"a worker of {component.name} does"
        )
        problem = f"{who} {', '.join(sorted(known))}, got {_shown(at.op)}"
        raise UsageError(where, f"{key}.op", problem)
    if at.role != "driver":
        return
    reached = _executions(scenario.steps, at.op)
    already = _executions(scenario.steps[:i], at.op)
    if not already < at.k <= reached:
        problem = f"{at.op} number {at.k} does not come after this step: the scenario has {reached} in all"
        raise UsageError(where, key, problem)


def _check_transfer(scenario: Scenario[Any, Any], fault: Any, key: str, where: object) -> None:
    """A fault that strikes transfers needs a role that has such."""
    if not hasattr(fault, "strikes_transfer"):
        return
    _check_role(scenario, fault, fault.role, f"{key}.role", where)
    if fault.nonsense is not None:
        raise UsageError(where, f"{key}.role", fault.nonsense)
    if fault.k < 1:
        raise UsageError(where, f"{key}.k", f"counts from 1, got {fault.k}")


def _check_role(
    scenario: Scenario[Any, Any], fault: Any, wanted: str, key: str, where: object
) -> None:
    """`driver`, `worker` or `worker:INDEX`, whichever the fault can strike, of workers that there are."""
    role, _, index = wanted.partition(":")
    forms = {"driver": "driver", "worker": "worker or worker:INDEX"}
    well_formed = not index or (role == "worker" and index.isdecimal())
    if role not in fault.roles or not well_formed:
        accepted = " or ".join(forms[each] for each in sorted(fault.roles))
        problem = f"{fault.fault} strikes {accepted}, got {_shown(wanted)}"
        raise UsageError(where, key, problem)
    workers = min(getattr(s, "num_envs", None) or s.num_workers for s in _setups(scenario))
    if index and int(index) >= workers:
        raise UsageError(where, key, f"there are {workers} workers, got {wanted!r}")


def _setups(scenario: Scenario[Any, Any]) -> list[Any]:
    return [row.setup for row in scenario.rows()]


def _executions(steps: Iterable[Any], op: str) -> int:
    return sum(getattr(step, "times", 1) for step in steps if getattr(step, "do", None) == op)


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
