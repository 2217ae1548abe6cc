"""Tells an adapter's mistakes from a backend's defects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from harness.engine.components import COMPONENTS, Component
from harness.engine.judging import BrokenJournalError, read_history
from harness.engine.loading import Loaded, parse
from harness.engine.plan import Options, jobs_of
from harness.engine.servers import Column
from harness.engine.supervisor import run_jobs
from harness.model.verdict import Outcome

LEAST: Mapping[str, list[dict[str, Any]]] = {
    "pool": [{"do": "reset"}, {"do": "step", "times": 2}, {"do": "shutdown"}],
    "weights": [{"do": "forward"}, {"do": "send", "version": 2}, {"do": "shutdown"}],
}


def problems(column: Column, root: Path) -> list[str]:
    """What is wrong with the adapter: with what it declares, or in its own code on a clean run."""
    found: list[str] = []
    for name, declared in column.capabilities.items():
        component = COMPONENTS[name]
        wrong = list(_declarations(component, declared))
        found += wrong or _clean_run(component, declared, column, root)
    return found


def _declarations(component: Component, declared: Mapping[str, Any]) -> Iterator[str]:
    known = {field.name: field for field in fields(component.setup)}
    for key in declared.get("setup", {}):
        if key not in known:
            yield f"{component.name}: setup: no such key {key!r}, known are {', '.join(known)}"
    for verb in declared.get("verbs", ()):
        if verb not in component.optional:
            known_verbs = ", ".join(sorted(component.optional))
            yield f"{component.name}: verbs: no such verb {verb!r}, known are {known_verbs}"


def _clean_run(
    component: Component, declared: Mapping[str, Any], column: Column, root: Path
) -> list[str]:
    """The least scenario, in the first setup that the backend declares."""
    setup = {key: min(values) for key, values in declared.get("setup", {}).items()}
    plain = {
        "title": "the least that an adapter has to do",
        "component": component.name,
        "setup": setup,
        "steps": LEAST[component.name],
    }
    loaded = Loaded(path=Path("least.toml"), scenario=parse(plain, "least"))
    options = Options(backends=(column.wanted.name,))
    jobs = jobs_of([loaded], [column], options, root, 1.0)
    (result,) = run_jobs(root, jobs)
    if result.directory is None:
        return [f"{component.name}: cannot run the least scenario: {result.reason}"]
    found = _blame(component, root / result.directory, column)
    if result.outcome is not Outcome.PASS and not found:
        found = [f"{component.name}: the least scenario is {result.outcome.value}: {result.reason}"]
    return found


def _blame(component: Component, directory: Path, column: Column) -> list[str]:
    """Failures whose innermost frame lies in the adapter are its own; others are the backend's."""
    try:
        history = read_history(directory)
    except BrokenJournalError as error:
        return [f"{component.name}: {error}"]
    module = column.wanted.adapter.partition(":")[0].replace(".", "/")
    found = []
    for operation in history.operations:
        if operation.status != "fail":
            continue
        frames = [line for line in operation.error["traceback"].splitlines() if "File " in line]
        own = bool(frames) and f"{module}.py" in frames[-1]
        whose = (
            "the adapter's mistake" if own else "not the adapter's, as far as its last frame shows"
        )
        found.append(
            f"{component.name}: {operation.op} raised {operation.error['type']}: "
            f"{operation.error['message']} ({whose}: {frames[-1].strip() if frames else 'no frame'})"
        )
    return found
