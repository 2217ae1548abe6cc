"""From what the user asked for to the cells that have to run."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from harness.engine import expectations
from harness.engine.loading import Loaded
from harness.engine.places import EXPECTED, SCENARIOS
from harness.engine.request import CellRequest
from harness.engine.servers import Column, Wanted
from harness.engine.supervisor import Job
from harness.engine.support import lacking, unsupported
from harness.engine.usage import UsageError
from harness.model.plain import to_plain
from harness.model.run import CellResult
from harness.model.scenario import Row, cell_id, slug
from harness.model.verdict import Outcome

REGISTERED = "harness.backends"
PLANTED = "harness.planted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run was asked for.

    Attributes:
        backends: names or `module:attr`.
        python: the interpreter of all backends.
        repeat: how often each cell runs.
        jobs: how many run at once.
        seed: recorded, and given to whatever draws.
        time_scale: None: measured.
        budget_s: no cell is started after this.
        expected: where lists of known outcomes lie.
        rows: only these: by their keys, ids without a backend, or scenarios.
        only: only rows with these ids, which name no backend; None: all.
    """

    backends: tuple[str, ...] = ("reference",)
    python: str = sys.executable
    repeat: int = 1
    jobs: int = 2
    seed: int = 0
    time_scale: float | None = None
    budget_s: float | None = None
    expected: Path = SCENARIOS / EXPECTED
    rows: tuple[str, ...] = field(default=())
    only: frozenset[str] | None = None


def wanted(name: str, python: str) -> Wanted:
    """Resolve a backend's name: `module:attr` as it is, else registered, else one of our own adapters.

    Raises:
        UsageError: there is no such backend, or more than one.
    """
    if ":" in name:
        return Wanted(name=name, adapter=name, python=python, group=_group(name))
    found = [entry.value for entry in entry_points(group=REGISTERED) if entry.name == name]
    if name in _own():
        found.append(f"harness.adapters.{name}:backend")
    found = list(dict.fromkeys(found))  # our own are registered, too
    if not found:
        known = ", ".join(registered())
        raise UsageError("--backend", name, f"no such backend, there are {known}, or module:attr")
    if len(found) > 1:
        raise UsageError(
            "--backend", name, f"may be {' or '.join(found)}: say which by module:attr"
        )
    return Wanted(name=name, adapter=found[0], python=python)


def _group(name: str) -> str:
    """Variants of one module share its imports, and so a server; those that are planted share one."""
    module = name.partition(":")[0]
    return PLANTED if module.startswith(f"{PLANTED}.") else module


def registered() -> list[str]:
    """Names that `--backend` knows."""
    return sorted({*_own(), *(entry.name for entry in entry_points(group=REGISTERED))})


def _own() -> list[str]:
    files = Path(__file__).parents[1].joinpath("adapters").glob("*.py")
    return [path.stem for path in files if not path.stem.startswith(("_", "tensordict"))]


def jobs_of(
    scenarios: Sequence[Loaded],
    columns: Sequence[Column],
    options: Options,
    root: Path,
    time_scale: float,
) -> list[Job]:
    """One job for each row on each backend.

    Raises:
        UsageError: a row that is asked for is not there, two cells have one id, or a list makes no sense.
    """
    _refuse_unknown_rows(scenarios, options)
    jobs = []
    for column in columns:
        info = column.info
        listed = expectations.load(options.expected, info.own_name, info.version, scenarios)
        for loaded in scenarios:
            jobs += [
                _job(loaded, row, column, options, root, time_scale, listed)
                for row in loaded.scenario.rows()
                if _asked_for(loaded, row, options)
            ]
    _refuse_twins(jobs)
    return jobs


def _asked_for(loaded: Loaded, row: Row[Any], options: Options) -> bool:
    return (not options.rows or not _names(loaded, row).isdisjoint(options.rows)) and (
        options.only is None or loaded.row_id(row) in options.only
    )


def _names(loaded: Loaded, row: Row[Any]) -> frozenset[str]:
    """What a row can be asked for by."""
    return frozenset({row.key, loaded.row_id(row), loaded.name_id})


def _refuse_unknown_rows(scenarios: Sequence[Loaded], options: Options) -> None:
    known = {
        name for each in scenarios for row in each.scenario.rows() for name in _names(each, row)
    }
    for row in options.rows:
        if "@" in row:
            raise UsageError("--row", row, "a row is named without a backend, which is --backend")
        if row not in known:
            raise UsageError("--row", row, "no scenario has such a row; harness list tells them")


def _refuse_twins(jobs: Sequence[Job]) -> None:
    """A cell's id names its files and its listed outcome: no two may share it."""
    counts = Counter(job.blank.id for job in jobs)
    for job in jobs:
        if counts[job.blank.id] > 1:
            raise UsageError(job.blank.scenario, "", f"two cells have the id {job.blank.id}")


def _interleaves(request: CellRequest) -> bool:
    """Whether somebody is held, or stopped, at a chosen point while another acts."""
    return any(hasattr(fault, "during") for fault in request.faults()) or any(
        getattr(verb, "until", "stored") != "stored" for verb in request.verbs()
    )


def _job(  # noqa: PLR0913 - one cell is where all of a run's choices meet
    loaded: Loaded,
    row: Row[Any],
    column: Column,
    options: Options,
    root: Path,
    time_scale: float,
    listed: expectations.Expectations,
) -> Job:
    component = loaded.component
    cell = cell_id(component.name, loaded.name, row.key, column.info.id)
    scenario = loaded.scenario
    request = CellRequest(
        cell=cell,
        adapter=column.wanted.adapter,
        component=component.name,
        setup=to_plain(row.setup),
        steps=scenario.steps,
        expect=tuple(outcome.value for outcome in scenario.expect.outcomes),
        time_scale=time_scale,
        seed=options.seed,
        properties=column.capabilities.get(component.name, {}),
    )
    undeclared = unsupported(request, component, column.capabilities)
    missing = None if undeclared else lacking(request)
    blank = CellResult(
        id=cell,
        scenario=shown(loaded.path).as_posix(),
        title=scenario.title,
        component=component.name,
        row=row.key,
        backend=column.info.id,
        outcome=Outcome.UNKNOWN,
        reason="not run: the budget was spent",
        expect=request.expect,
        seconds=0.0,
        replay=replay_line(cell, loaded.path, column.wanted, options),
        level=2 if _interleaves(request) else 3,
        lacking=missing is not None,
    )
    known = listed.get(loaded.row_id(row))
    return Job(
        server=column.server,
        request=request,
        directory=root / "cells" / slug(cell),
        blank=blank if known is None else _listed(blank, known),
        repeat=options.repeat,
        unsupported=undeclared or missing,
    )


def _listed(cell: CellResult, known: expectations.Listed) -> CellResult:
    """A cell with what is listed for it."""
    return replace(
        cell,
        expected=known.outcomes[0],
        expected_also=known.outcomes[1:],
        expected_reason=known.reason,
        expected_checkers=known.checkers,
        expected_confirmed=known.confirmed,
        expected_expires=known.expires,
    )


def shown(path: Path) -> Path:
    """A path as seen from here, if it lies below."""
    absolute = path.absolute()
    return absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path


def replay_line(cell: str, path: Path, backend: Wanted, options: Options) -> str:
    """The command that repeats a cell; it says what is not the default, and needs no earlier run."""
    words = ["harness", "replay", cell]
    component, _, rest = cell.partition("/")
    path = shown(path)
    if path != SCENARIOS / component / f"{rest.partition('[')[0]}.toml":
        words += ["--scenario", str(path)]
    if cell.rpartition("@")[2].partition("-")[0] != backend.name:
        words += ["--backend", backend.name]
    if backend.python != sys.executable:
        words += ["--python", backend.python]
    if options.seed:
        words += ["--seed", str(options.seed)]
    if options.time_scale is not None:
        words += ["--time-scale", f"{options.time_scale:g}"]
    return shlex.join(words)
