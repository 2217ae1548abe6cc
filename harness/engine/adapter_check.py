"""Tells an adapter's mistakes from a backend's defects: what it declares, then the least scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from harness.engine.components import COMPONENTS, Component
from harness.engine.judging import BrokenJournalError, judge, read_history
from harness.engine.loading import Loaded, parse
from harness.engine.plan import Options, jobs_of
from harness.engine.request import NOT_INSTALLED
from harness.engine.servers import Column
from harness.engine.supervisor import run_jobs
from harness.model.history import History, Kind, Operation
from harness.model.run import CellResult
from harness.model.verdict import Contract, Outcome
from harness.ports.pool import Autoreset

DELAY = {"fault": "delay_transfer", "seconds": 0.05}  # which harms nobody, if it is counted at all
HORIZON = 2  # so that the steps below meet the ends of episodes
ADAPTERS, BACKENDS = "the adapter's mistake", "not the adapter's, as far as its last frame shows"


def problems(column: Column, root: Path) -> list[str]:
    """What is wrong with the adapter: with what it declares, or in its own code on a clean run."""
    missing = (name for name, found in column.info.versions.items() if found == NOT_INSTALLED)
    found = [f"packages: there is no distribution {each!r} ({ADAPTERS})" for each in missing]
    found += [f"{each} ({ADAPTERS}: {column.wanted.adapter})" for each in column.problems]
    for name, declared in column.capabilities.items():
        component = COMPONENTS[name]
        found += list(unknown_verbs(component, declared)) or _clean_run(component, column, root)
    return found


def looked_at(column: Column) -> list[str]:
    """Which verbs the check tries, and which it does not: of those it says nothing."""
    lines = []
    for name, declared in column.capabilities.items():
        component = COMPONENTS[name]
        steps = _least(component, declared)["steps"]
        tried = list(dict.fromkeys(step["do"] for step in steps if "do" in step))
        able = component.always | set(declared.get("verbs", ()))
        rest = ", ".join(sorted(able.difference(tried))) or "none"
        lines.append(f"{name}: tried {', '.join(tried)}; not tried: {rest}")
    return lines


def unknown_verbs(component: Component, declared: Mapping[str, Any]) -> Iterator[str]:
    """Declared verbs that the port does not know."""
    known = ", ".join(sorted(component.optional)) or "none"
    for verb in declared.get("verbs", ()):
        if verb not in component.optional:
            yield f"{component.name}: verbs: no such verb {verb!r}, known are {known}"


def _least(component: Component, declared: Mapping[str, Any]) -> dict[str, Any]:
    """The least scenario that uses what is declared, in the default setup as far as that is."""
    defaults: dict[str, Any] = {field.name: field.default for field in fields(component.setup)}
    setup: dict[str, Any] = {
        key: defaults[key] if defaults[key] in values else min(values)
        for key, values in declared.get("setup", {}).items()
    }
    steps: list[dict[str, Any]] = [{"do": "forward"}, {"do": "send", "version": 2}]
    transport = setup.get("transport", defaults.get("transport"))
    counted = set(declared.get("transfers", {}).get(transport, ()))
    delays = [{**DELAY, "channel": channel} for channel in sorted(counted)]
    if component.name == "storage":
        rows = defaults["capacity"]  # the ring comes round
        steps = [{"do": "extend", "rows": rows - 1}, {"do": "sample"}]
        steps += [{"do": "extend", "writer": 1}, {"do": "sample"}, {"do": "read_all"}]
    if component.name == "pool":
        setup |= {"num_envs": 2, "horizon": HORIZON, "host": "bare"}
        steps = [{"do": "reset"}, *delays, {"do": "step", "times": HORIZON + 3}]
        verbs = declared.get("verbs", ())
        if "reset_where" in verbs:
            steps += [{"do": "reset_where", "mask": [True, False]}, {"do": "step"}]
        if {"send", "recv"} <= set(verbs):
            steps += [{"do": "send"}, {"do": "recv"}]
    return {
        "title": "the least that an adapter has to do",
        "component": component.name,
        "setup": setup,
        "steps": [*steps, {"do": "shutdown"}],
    }


def _clean_run(component: Component, column: Column, root: Path) -> list[str]:
    plain = _least(component, column.capabilities[component.name])
    loaded = Loaded(path=Path("least.toml"), scenario=parse(plain, "the least scenario"))
    options = Options(backends=(column.wanted.name,))
    (result,) = run_jobs(root, jobs_of([loaded], [column], options, root, 1.0))
    if result.directory is None:
        return [f"{component.name}: cannot run the least scenario: {result.reason}"]
    try:
        history = read_history(root / result.directory)
    except BrokenJournalError as error:
        return [f"{component.name}: {error}"]
    if result.outcome is Outcome.HARNESS_ERROR and "transfer_ends" in result.reason:
        return [f"{component.name}: {result.reason} ({ADAPTERS})"]
    raised = [op for op in history.operations if op.status == "fail"]
    found = list(dict.fromkeys(_blame(component, op, column) for op in raised))
    found += _wrong_workers(component, history)
    return found or [*_unclosed(component, history), *_verdict(component, history, result)]


def _blame(component: Component, operation: Operation, column: Column) -> str:
    """Who raised: the innermost frame is the adapter's, or ours, which means that the port was broken."""
    module = column.wanted.adapter.partition(":")[0].replace(".", "/")
    frames = [line for line in operation.error["traceback"].splitlines() if "File " in line]
    last = frames[-1].strip() if frames else "no frame"
    what = f"{operation.op} raised {operation.error['type']}: {operation.error['message']}"
    if f"{module}.py" in last:
        return f"{component.name}: {what} ({ADAPTERS}: {last})"
    if (
        "/harness/" in last
    ):  # what the adapter is to have, or what it returned, is not as the port says
        return f"{component.name}: {what} ({ADAPTERS}: {column.wanted.adapter})"
    return f"{component.name}: {what} ({BACKENDS}: {last})"


def _wrong_workers(component: Component, history: History) -> list[str]:
    """A pool of processes has one for each env, and none of them is the driver."""
    if component.name != "pool" or history.setup["transport"] != "process":
        return []
    for op in history.operations:
        if op.op != "construct" or op.status != "ok":
            continue
        pids, expected = op.result.get("pids", []), history.setup["num_envs"]
        if len(set(pids)) != expected or op.invoked.pid in pids:
            said = f"worker_pids says {pids} for {expected} envs with transport=process"
            return [
                f"{component.name}: {said} ({ADAPTERS}; declare transport=thread if it has none)"
            ]
        seen = _own_pids(history)
        if pids != seen:
            said = f"worker_pids says {pids}, but the envs in order of their index live in {seen}"
            return [f"{component.name}: {said} ({ADAPTERS})"]
    return []


def _own_pids(history: History) -> list[int]:
    """The process that each env says it is in, by index."""
    seen = {e.role: e.pid for e in history.of_kind(Kind.OBSERVE) if e.role.startswith("worker:")}
    return [seen.get(f"worker:{env}", 0) for env in range(int(history.setup["num_envs"]))]


def _unclosed(component: Component, history: History) -> list[str]:
    """Every env is closed, whoever forgets it."""
    if component.name != "pool":
        return []
    closed = {e.role for e in history.of_kind(Kind.OBSERVE) if e.op == "close"}
    left = [
        each for each in range(int(history.setup["num_envs"])) if f"worker:{each}" not in closed
    ]
    if not left:
        return []
    said = f"close was never called on the envs {', '.join(map(str, left))}"
    return [f"{component.name}: {said} (the adapter's, or the backend's)"]


def _verdict(component: Component, history: History, result: CellResult) -> list[str]:
    """What the judges say of a run in which nothing goes wrong but, at most, that an item is late."""
    if result.outcome is Outcome.PASS:
        return []
    uncounted = [record for record in result.faults if not record.effect]
    if result.outcome is Outcome.VACUOUS and uncounted:
        said = "transfer_ends or hooks: no item was seen on a channel of those in transfers"
        return [f"{component.name}: {said}, {result.reason} ({ADAPTERS})"]
    red = [f for f in result.findings if f.contract is not Contract.OPINION]
    if red and _resets_otherwise(history):
        declared = history.properties["autoreset"]
        said = f"autoreset: {declared!r} is declared, but the other is what the pool does"
        return [f"{component.name}: {said} ({ADAPTERS}); {red[0].checker}: {red[0].text}"]
    lines = []
    for name, found in groupby(sorted(red, key=lambda f: f.checker), key=lambda f: f.checker):
        first, *others = found
        more = f" (and {len(others)} more)" if others else ""
        lines.append(
            f"{component.name}: {name}: {first.text}{more} (the adapter's, or the backend's)"
        )
    return lines or [f"{component.name}: {result.outcome.value}: {result.reason}"]


def _resets_otherwise(history: History) -> bool:
    """Whether nothing would be wrong if the other way to reset ended episodes were declared."""
    declared = history.properties.get("autoreset")
    others = [word for word in get_args(Autoreset) if declared is not None and word != declared]
    supposed = (replace(history, properties={**history.properties, "autoreset": w}) for w in others)
    return any(judge(each).outcome is Outcome.PASS for each in supposed)
