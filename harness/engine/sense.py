"""Whether a scenario that has the right form makes sense: what no backend at all could run is the file's mistake."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.engine import bounds
from harness.engine.components import COMPONENTS, Component
from harness.engine.usage import UsageError, shown
from harness.model.scenario import Heal, Scenario
from harness.ports.entries import Compare

BEFORE = {  # verbs that mean nothing without another before them
    "wait_async": ("send_async", "nothing is under way"),
    "load": ("dump", "nothing is kept"),
    "set_priorities": ("sample", "nothing was sampled"),
}
NEEDED = {  # the one value of a setup key at which a verb means something
    "reopen": ("medium", "disk"),
    "set_priorities": ("sampler", "prioritized"),
}


class _All(frozenset[str]):
    """Whatever is asked for is declared."""

    def __contains__(self, _: object) -> bool:
        return True


class _OfAll:
    """What is declared by transport: everything, for each."""

    @staticmethod
    def get(*_: object) -> _All:
        """Whatever the transport."""
        return _All()


class _Anything:
    """The capabilities of a backend that can do everything, as far as faults ask."""

    channels = transfers = _OfAll
    once: frozenset[str] = frozenset()
    closes_by_itself = promises_forms = True
    defects = _All()


def check(
    scenario: Scenario[Any, Any], setup: Mapping[str, Any], component: Component, where: object
) -> None:
    """Look for the first mistake; `setup` is the table as the file has it.

    Raises:
        UsageError: something in it makes no sense.
    """
    _check_matrix(scenario, component, where)
    if not scenario.expect.outcomes:
        raise UsageError(where, "expect.outcome", "one outcome at least, got []")
    for key in scenario.matrix:
        if key in setup:
            problem = f"is in [setup] too, where it is {shown(setup[key])}: say it once"
            raise UsageError(where, f"matrix.{key}", problem)
    bounds.check(scenario, where)
    _check_steps(scenario, component, where)
    _check_order(scenario, where)
    _check_before(scenario, where)
    _check_needed(scenario, where)
    _check_loans(scenario, where)
    _check_comparisons(scenario, where)
    _check_possible(scenario, where)


def _check_order(scenario: Scenario[Any, Any], where: object) -> None:
    """Steps that need others before them, or beside them."""
    envs = min(getattr(setup, "num_envs", 0) for setup in _setups(scenario))
    is_open, sent, frames = False, 0, None
    for i, step in enumerate(scenario.steps):
        match getattr(step, "do", None):
            case "open_beside" if is_open:
                raise UsageError(where, f"steps[{i}].do", "a second pool is open already")
            case "close_beside" if not is_open:
                problem = "there is no second pool: open_beside comes first"
                raise UsageError(where, f"steps[{i}].do", problem)
            case "open_beside" | "close_beside":
                is_open = not is_open
            case "rollout" if frames not in (None, step.frames):
                problem = f"a collector is built for one size of batch, {frames}, got {step.frames}"
                raise UsageError(where, f"steps[{i}].frames", problem)
            case "rollout":
                frames = step.frames
            case "send":
                sent += envs * getattr(step, "times", 1)
            case "recv" if step.min_get is not None and not step.refusable:
                if not 1 <= step.min_get <= sent:
                    problem = f"from 1 to what was sent before, {sent}, got {step.min_get}"
                    raise UsageError(where, f"steps[{i}].min_get", problem)


def _check_before(scenario: Scenario[Any, Any], where: object) -> None:
    """What is waited for, brought back or collected was begun before."""
    seen: set[object] = set()
    for i, step in enumerate(scenario.steps):
        verb = getattr(getattr(step, "during", step), "do", None)
        needed, lacking = BEFORE.get(str(verb), (None, ""))
        if needed is not None and needed not in seen:
            raise UsageError(where, f"steps[{i}].do", f"{lacking}: {needed} comes first")
        if verb == "collect" and ("open", step.writer) not in seen:
            problem = f"writer {step.writer} has begun nothing: an extend with until comes first"
            raise UsageError(where, f"steps[{i}].do", problem)
        if verb == "extend" and step.until != "stored":
            seen.add(("open", step.writer))
        seen.add(verb)


def _check_needed(scenario: Scenario[Any, Any], where: object) -> None:
    """A verb that means something in some setups only is in no row of another."""
    for i, step in enumerate(scenario.steps):
        verb, model = getattr(step, "do", None), getattr(step, "model", "policy")
        needed = NEEDED.get(str(verb))
        place, named = f"steps[{i}].do", verb
        if verb == "send" and model != "policy":
            needed, place, named = ("models", "policy_and_value"), f"steps[{i}].model", model
        if needed is None:
            continue
        key, value = needed
        others = {getattr(setup, key) for setup in _setups(scenario)} - {value}
        if others:
            problem = f"needs {key} = {shown(value)}, which is {shown(min(others))}"
            raise UsageError(where, place, f"{problem}, got {shown(named)}")


def _check_loans(scenario: Scenario[Any, Any], where: object) -> None:
    """What is given back was lent before."""
    is_lent = False
    for i, step in enumerate(scenario.steps):
        is_lent |= getattr(step, "lent", False)
        if getattr(step, "do", None) == "give_back":
            if not is_lent:
                problem = "nothing is lent: recv with lent comes first"
                raise UsageError(where, f"steps[{i}].do", problem)
            is_lent = False


def _check_comparisons(scenario: Scenario[Any, Any], where: object) -> None:
    """A twin makes the calls that are compared, and no others; it says what is an env's own of some payloads."""
    verbs = [(i, step) for i, step in enumerate(scenario.steps) if hasattr(step, "do")]
    if not any(isinstance(step, Compare) for _, step in verbs):
        return
    for i, step in verbs:
        if step.do not in Compare.BESIDE:
            known = ", ".join(sorted(Compare.BESIDE))
            problem = f"where calls are compared there are only {known}, got {shown(step.do)}"
            raise UsageError(where, f"steps[{i}].do", problem)
    for setup in _setups(scenario):
        if setup.payload not in Compare.PAYLOADS:
            known = ", ".join(sorted(Compare.PAYLOADS))
            problem = f"what is compared is one of {known}, got {shown(setup.payload)}"
            raise UsageError(where, "setup.payload", problem)


def _check_possible(scenario: Scenario[Any, Any], where: object) -> None:
    """A row that a fault cannot strike, whatever the backend declares, would never be judged."""
    rows = scenario.rows()
    for i, step in enumerate(scenario.steps):
        if not hasattr(step, "fault"):
            continue
        worker = getattr(step, "worker", 0)
        workers = _workers(scenario)
        if not 0 <= worker < workers:
            raise UsageError(
                where, f"steps[{i}].worker", f"there are {workers} workers, got {worker}"
            )
        for row in rows:
            setup = {f.name: getattr(row.setup, f.name) for f in fields(row.setup)}
            why = step.unsupported(setup, _Anything())
            if why is not None:
                which = f" in row {row.key}" if row.key else ""
                raise UsageError(where, f"steps[{i}].fault", f"{why}, got {step.fault!r}{which}")


def _check_matrix(scenario: Scenario[Any, Any], component: Component, where: object) -> None:
    known = [field.name for field in fields(component.setup)]
    for key, values in scenario.matrix.items():
        if key not in known:
            problem = f"no such setup key {shown(key)}, must be one of {', '.join(known)}"
            raise UsageError(where, f"matrix.{key}", problem)
        if not values:
            raise UsageError(where, f"matrix.{key}", "a list of at least one value, got []")
        for value in values:
            try:
                _setup_form(component.name).validate_json(json.dumps({key: value}), strict=True)
            except ValidationError as error:
                problem = str(error.errors()[0]["msg"])
                raise UsageError(where, f"matrix.{key}", f"{problem}, got {shown(value)}") from None


@functools.cache
def _setup_form(component: str) -> TypeAdapter[Any]:
    """Validates a component's setup; it takes longer to make than a file takes to read."""
    return TypeAdapter(COMPONENTS[component].setup)


def _check_steps(scenario: Scenario[Any, Any], component: Component, where: object) -> None:
    ids = Counter(step.id for step in scenario.steps if hasattr(step, "fault"))
    sizes = {row.setup.num_envs for row in scenario.rows() if hasattr(row.setup, "num_envs")}
    for i, step in enumerate(scenario.steps):
        before = {each.id for each in scenario.steps[:i] if hasattr(each, "fault")}
        if isinstance(step, Heal) and step.heal not in before:
            problem = f"no fault before it has the id {shown(step.heal)}"
            raise UsageError(where, f"steps[{i}].heal", problem)
        if hasattr(step, "fault") and ids[step.id] > 1:
            raise UsageError(where, f"steps[{i}].id", f"two faults have the id {shown(step.id)}")
        if getattr(step, "mask", None) is not None and {len(step.mask)} != sizes:
            problem = f"one entry an env, num_envs is {sorted(sizes)}, got {len(step.mask)} entries"
            raise UsageError(where, f"steps[{i}].mask", problem)
        if getattr(step, "do", None) == "leave" and i + 1 < len(scenario.steps):
            problem = f"leave is the last step, {len(scenario.steps) - i - 1} come after it"
            raise UsageError(where, f"steps[{i}].do", problem)
        if getattr(step, "placement", None) is not None:
            _check_placement(scenario, component, i, where)
        _check_transfer(scenario, step, f"steps[{i}]", where)
        _check_workers(scenario, step, f"steps[{i}]", where)
        during = getattr(step, "during", None)
        if during is not None and step.bound_s >= during.within_s:
            problem = f"below the deadline of what runs during it, {during.within_s:g} s"
            raise UsageError(where, f"steps[{i}].bound_s", f"{problem}, got {step.bound_s:g}")


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
    known = fault.ops if at.role == "driver" else _worker_ops(fault, component)
    if known and at.op not in known:
        who = (
            "it strikes the driver's"
            if at.role == "driver"
            else f"a worker of {component.name} does"
        )
        problem = f"{who} {', '.join(sorted(known))}, got {shown(at.op)}"
        raise UsageError(where, f"{key}.op", problem)
    if at.role != "driver":
        return
    reached = _executions(scenario.steps, at.op)
    already = _executions(scenario.steps[:i], at.op)
    if not already < at.k <= reached:
        problem = f"{at.op} number {at.k} does not come after this step: the scenario has {reached} in all"
        raise UsageError(where, key, problem)


def _check_workers(scenario: Scenario[Any, Any], step: Any, key: str, where: object) -> None:
    """A verb that names a worker, or workers, names some that there are, each once."""
    workers = _workers(scenario)
    for one in ("worker", "writer") if hasattr(step, "do") else ():
        index = getattr(step, one, 0)
        if not 0 <= index < workers:
            raise UsageError(where, f"{key}.{one}", f"there are {workers} {one}s, got {index}")
    by = str(getattr(step, "by", "driver"))
    if by != "driver" and int(by.partition(":")[2]) >= workers:
        raise UsageError(where, f"{key}.by", f"there are {workers} workers, got {shown(by)}")
    refused_by = getattr(step, "refused_by", None)
    if refused_by is not None and not 0 <= refused_by < workers:
        raise UsageError(where, f"{key}.refused_by", f"there are {workers} envs, got {refused_by}")
    for several in ("workers", "envs"):
        named = getattr(step, several, None)
        if named is None:
            continue
        if not named or len(set(named)) < len(named) or not set(named) <= set(range(workers)):
            problem = f"some of {workers} {several}, each once, got {list(named)}"
            raise UsageError(where, f"{key}.{several}", problem)


def _worker_ops(fault: Any, component: Component) -> frozenset[str]:
    """Where a fault can strike a worker: some can at some of its operations only."""
    own: frozenset[str] = getattr(fault, "worker_ops", component.worker_ops)
    return own & component.worker_ops


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
        problem = f"{fault.fault} strikes {accepted}, got {shown(wanted)}"
        raise UsageError(where, key, problem)
    workers = _workers(scenario)
    if index and int(index) >= workers:
        raise UsageError(where, key, f"there are {workers} workers, got {wanted!r}")


def _setups(scenario: Scenario[Any, Any]) -> list[Any]:
    return [row.setup for row in scenario.rows()]


def _executions(steps: Iterable[Any], op: str) -> int:
    """How often an operation of the driver is made, beside a fault that holds somebody, too."""
    made = (getattr(step, "during", step) for step in steps)
    return sum(getattr(verb, "times", 1) for verb in made if getattr(verb, "do", None) == op)


def _workers(scenario: Scenario[Any, Any]) -> int:
    """How many workers every row has at least."""
    return min(int(getattr(s, "num_envs", None) or s.num_workers) for s in _setups(scenario))
