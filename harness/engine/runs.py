"""One whole run: servers, cells, record."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from harness.engine import timescale
from harness.engine.loading import Loaded
from harness.engine.outcomes import judged_again
from harness.engine.plan import Options, jobs_of, wanted
from harness.engine.servers import Column, Server, Wanted, search_path
from harness.engine.supervisor import Job, Supervisor
from harness.engine.usage import UsageError
from harness.model.run import CellResult, RunRecord
from harness.ports.clock import calendar, now_ns

PACKAGES = ("rl-fault-harness", "hypothesis", "pydantic", "pytest")


class Audience(Protocol):
    """Whoever is told how a run goes."""

    def say(self, line: str) -> None:
        """Be told something: that an import takes long."""

    def begin(self, cells: int, time_scale: float) -> None:
        """Be told how much there is to do, before the first cell."""

    def tell(self, cell: CellResult) -> None:
        """Be told how a cell ended."""


def new_directory(reports: Path) -> Path:
    """A fresh directory for a run, named after the time it started."""
    stem = calendar()
    for attempt in range(1000):
        path = reports / (stem if attempt == 0 else f"{stem}-{attempt}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(
                "--reports", str(reports), f"cannot be written to: {error.strerror}"
            ) from error
        return path
    raise UsageError("--reports", str(reports), "cannot make a new directory there")


@contextmanager
def columns_of(
    options: Options, root: Path, waiting: Callable[[str], None] = lambda _: None
) -> Iterator[list[Column]]:
    """The backends, each on a running server; the servers end with the block.

    Args:
        options: which backends, and in which interpreter.
        root: where servers leave their logs.
        waiting: called with a sentence while an import takes long.

    Raises:
        UsageError: a backend cannot be had.
    """
    twice = [name for name, count in Counter(options.backends).items() if count > 1]
    if twice:
        raise UsageError("--backend", twice[0], "is named twice")
    path = search_path(root / "path")
    servers: list[Server] = []
    try:
        for group in _grouped([wanted(name, options.python) for name in options.backends]):
            log = root / f"server-{len(servers)}.log"
            servers.append(Server(group, log, path, waiting))
        columns = [column for server in servers for column in server.columns]
        _refuse_namesakes(columns)
        yield columns
    finally:
        for server in servers:
            server.stop()


def _refuse_namesakes(columns: Sequence[Column]) -> None:
    """What a backend calls itself is in its cells' ids, so that no two may have one name."""
    seen: dict[str, str] = {}
    for column in columns:
        name, mine = column.wanted.name, column.info.id
        if mine in seen:
            raise UsageError("--backend", name, f"calls itself {mine}, and so does {seen[mine]}")
        seen[mine] = name


def _grouped(backends: Sequence[Wanted]) -> list[list[Wanted]]:
    groups: dict[str, list[Wanted]] = {}
    for each in backends:
        groups.setdefault(each.group or each.name, []).append(each)
    return list(groups.values())


def run(
    scenarios: Sequence[Loaded],
    options: Options,
    root: Path,
    *,
    audience: Audience,
    order: Callable[[list[Job]], list[Job]] = lambda jobs: jobs,
) -> RunRecord:
    """Run every row of every scenario on every backend.

    Args:
        scenarios: what to run.
        options: how.
        root: where cells leave their files.
        audience: is told how it goes.
        order: in which they are started, for a budget that may not last for all of them; it may leave some out.

    Raises:
        UsageError: a backend cannot be had, or nothing is left to run.
        OSError: the run's directory cannot be written to, before the first cell.
    """
    start = now_ns()
    scale = options.time_scale if options.time_scale is not None else timescale.measure()
    with columns_of(options, root, audience.say) as columns:
        jobs = jobs_of(scenarios, columns, options, root, scale)
        if not jobs:
            problem = "the smoke selection has no such row"  # else there is one that was asked for
            raise UsageError("--row", ", ".join(options.rows), problem)
        ordered = order(jobs)
        audience.begin(len(ordered), scale)
        supervisor = Supervisor(
            root, jobs=options.jobs, tell=audience.tell, budget_s=options.budget_s
        )
        found = {cell.id: cell for cell in supervisor.run(ordered)}
        cells = [found[job.blank.id] for job in jobs if job.blank.id in found]
        return RunRecord(
            versions={name: _version(name) for name in PACKAGES},
            machine=machine(),
            seed=options.seed,
            time_scale=scale,
            planned=len(ordered),
            interrupted=supervisor.interrupted,
            failed=f"{root}: {supervisor.failed}" if supervisor.failed else "",
            seconds=round((now_ns() - start) / 1e9, 1),
            backends=tuple(column.info for column in columns),
            cells=tuple(cells),
        )


def judge_again(record: RunRecord, root: Path) -> RunRecord:
    """Judge every cell of a run anew, from its journals."""
    return replace(record, cells=tuple(judged_again(cell, root) for cell in record.cells))


def machine() -> dict[str, Any]:
    """What the run was done on."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": sys.version.split()[0],
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
