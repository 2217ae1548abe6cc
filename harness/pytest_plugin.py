"""Scenario files as tests: one item a row and backend. Inert until `harness_scenarios = true` in the ini file.

FAIL, HANG, CRASH and LEAK are failures; UNKNOWN, VACUOUS and HARNESS-ERROR are errors; UNSUPPORTED is a
skip with the reason that the backend declares; a listed outcome is an expected failure.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.engine.loading import Loaded
    from harness.engine.plan import Options
    from harness.engine.servers import Column
    from harness.engine.supervisor import Job
    from harness.engine.usage import UsageError
    from harness.model.run import CellResult

INI = "harness_scenarios"
FOLDER = "scenarios"
MEETING = "harness_meeting"  # what a worker of xdist is told


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options begin with `--harness-`."""
    group = parser.getgroup("harness", "fault scenarios")
    group.addoption(
        "--harness-backend",
        action="append",
        default=[],
        metavar="NAME",
        help="backend that scenario files run against: a name or module:attr (default: reference)",
    )
    group.addoption("--harness-python", default=sys.executable, help="interpreter of the backends")
    group.addoption("--harness-repeat", type=int, default=1, help="runs of each cell")
    group.addoption(
        "--harness-time-scale", type=float, default=None, help="deadlines are multiplied by it"
    )
    group.addoption(
        "--harness-smoke", action="store_true", help="only the rows that smoke.toml lists"
    )
    parser.addini(
        INI, f"collect *.toml below directories named {FOLDER}", type="bool", default=False
    )


def pytest_configure(config: pytest.Config) -> None:
    """A backend that is asked for while nothing is collected would be a green run of nothing."""
    if config.getoption("--harness-backend") and not config.getini(INI):
        raise pytest.UsageError(f"--harness-backend needs `{INI} = true` in the ini file")
    if config.getini(INI):
        _check_options(config)


def _check_options(config: pytest.Config) -> None:
    """What would be an error in each item is one for all."""
    from harness.engine.plan import wanted
    from harness.engine.timescale import CHOSEN
    from harness.engine.usage import UsageError

    scale = config.getoption("--harness-time-scale")
    problem = None if scale is None else CHOSEN.broken_by(scale)
    if problem is not None:
        raise pytest.UsageError(f"--harness-time-scale: {problem}")
    if config.getoption("--harness-repeat") < 1:
        raise pytest.UsageError("--harness-repeat: at least 1")
    try:
        for name in _backends(config):
            wanted(name, config.getoption("--harness-python"))
    except UsageError as error:
        raise pytest.UsageError(f"--harness{str(error).removeprefix('-')}") from error


def pytest_report_header(config: pytest.Config) -> str | None:
    """Which backends the scenarios run against."""
    return (
        f"harness: scenarios run against {', '.join(_backends(config))}"
        if config.getini(INI)
        else None
    )


def _backends(config: pytest.Config) -> list[str]:
    return config.getoption("--harness-backend") or ["reference"]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a scenario file."""
    if not parent.config.getini(INI) or file_path.suffix != ".toml":
        return None
    from harness.engine.places import is_scenario

    root = parent.config.rootpath  # a checkout may itself lie below a directory of that name
    within = file_path.relative_to(root) if file_path.is_relative_to(root) else file_path
    if FOLDER not in within.parts or not is_scenario(file_path):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist where it meets the others."""
    stash = node.config.stash
    if _MEETING not in stash:
        stash[_MEETING] = tempfile.TemporaryDirectory(prefix="harness-")
    node.workerinput[MEETING] = stash[_MEETING].name


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the servers."""
    bench = config.stash.get(_BENCH, None)
    if bench is not None:
        bench.close()
    meeting = config.stash.get(_MEETING, None)
    if meeting is not None:
        meeting.cleanup()


class ScenarioFile(pytest.File):
    """One scenario file."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each row on each backend."""
        from harness.engine.loading import load
        from harness.engine.usage import UsageError

        try:
            loaded = load(self.path)
        except UsageError as error:
            raise self.CollectError(str(error)) from error
        chosen = self._chosen()
        rows = [
            row for row in loaded.scenario.rows() if chosen is None or loaded.row_id(row) in chosen
        ]
        for backend in _backends(self.config):
            for row in rows:
                yield ScenarioItem.from_parent(
                    self, name=f"{row.key or 'only'}@{backend}", case=(loaded, row.key, backend)
                )

    def _chosen(self) -> frozenset[str] | None:
        """The rows of the smoke selection, if only those are wanted."""
        from harness.engine.smoke import beside, read
        from harness.engine.usage import UsageError

        if not self.config.getoption("--harness-smoke"):
            return None
        try:
            return frozenset(each.row for each in read(beside([self.path])))
        except UsageError as error:
            raise self.CollectError(str(error)) from error


class ScenarioItem(pytest.Item):
    """One row on one backend."""

    def __init__(self, *, case: tuple[Loaded, str, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._case = case
        self._cell: CellResult | None = None

    def setup(self) -> None:
        """Run the cell; what says nothing about the backend is an error, not a failure."""
        from harness.engine.usage import UsageError
        from harness.model.standing import Standing, standing

        bench = self.config.stash.setdefault(_BENCH, None) or _Bench(self.config)
        self.config.stash[_BENCH] = bench
        try:
            self._cell = cell = bench.run(*self._case)
        except UsageError as error:
            pytest.fail(str(error), pytrace=False)
        where = standing(cell)
        if where in (Standing.HARNESS, Standing.INCONCLUSIVE):
            pytest.fail(_account(cell), pytrace=False)
        if cell.outcome.value == "UNSUPPORTED" and where is not Standing.LISTED:
            pytest.skip(cell.reason)

    def runtest(self) -> None:
        """Say how the cell ended."""
        from harness.model.standing import Standing, standing

        cell = self._cell
        assert cell is not None
        where = standing(cell)
        if where is Standing.LISTED and cell.outcome.value != "PASS":
            pytest.xfail(cell.expected_reason or "listed")
        if where is Standing.WORSE:
            pytest.fail(_account(cell), pytrace=False)
        if where is Standing.BETTER:
            note = f"listed as {cell.listed_as}, but now {cell.outcome.value}"
            self.add_report_section("call", "note", note)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is and what it is called."""
        return self.path, 0, f"{self.path.stem}[{self.name}]"


class _Bench:
    """Servers of this pytest process, started when first needed."""

    def __init__(self, config: pytest.Config) -> None:
        from harness.engine.plan import Options
        from harness.engine.room import Room
        from harness.engine.timescale import measure

        self._directory = tempfile.TemporaryDirectory(prefix="harness-")
        meeting = getattr(config, "workerinput", {}).get(MEETING, self._directory.name)
        self._room = Room(Path(meeting))
        self._root = Path(self._directory.name)
        self._columns: dict[str, Column] = {}
        self._broken: dict[str, UsageError] = {}
        scale = config.getoption("--harness-time-scale")
        self._options: Options = Options(
            python=config.getoption("--harness-python"),
            repeat=config.getoption("--harness-repeat"),
            time_scale=scale,
        )
        self._scale: float = scale or measure()

    def run(self, loaded: Loaded, row: str, backend: str) -> CellResult:
        """Run one row on one backend; while a run is confirmed, other workers of xdist begin none."""
        from harness.engine.supervisor import run_jobs

        job = self._job(loaded, row, backend)
        with self._room.entered():
            (result,) = run_jobs(self._root, [job], alone=self._room.alone)
        return result

    def _job(self, loaded: Loaded, row: str, backend: str) -> Job:
        from harness.engine.places import EXPECTED, around
        from harness.engine.plan import jobs_of

        expected = around(loaded.path) / EXPECTED
        options = replace(self._options, backends=(backend,), rows=(row,), expected=expected)
        root = Path(tempfile.mkdtemp(dir=self._root))
        (job,) = jobs_of([loaded], [self._column(backend)], options, root, self._scale)
        return job

    def _column(self, backend: str) -> Column:
        from harness.engine.plan import wanted
        from harness.engine.servers import Server, search_path
        from harness.engine.usage import UsageError

        if backend in self._broken:  # nobody waits for the same import twice
            raise self._broken[backend]
        if backend not in self._columns:
            log = self._root / f"server-{len(self._columns)}.log"
            path = search_path(self._root / "path")
            try:
                server = Server([wanted(backend, self._options.python)], log, path)
            except UsageError as error:
                self._broken[backend] = error
                raise
            (self._columns[backend],) = server.columns
        return self._columns[backend]

    def close(self) -> None:
        """End the servers and forget what cells left."""
        for column in self._columns.values():
            column.server.stop()
        self._room.close()
        self._directory.cleanup()


_BENCH: pytest.StashKey[_Bench | None] = pytest.StashKey()
_MEETING: pytest.StashKey[tempfile.TemporaryDirectory[str]] = pytest.StashKey()


def _account(cell: CellResult) -> str:
    """Everything that a reader of a log needs."""
    lines = [f"{cell.outcome.value} {cell.id}", cell.title, cell.reason]
    lines += [f"  {f.checker} ({f.contract.value}): {f.text}" for f in cell.findings]
    for fault in cell.faults:
        lines.append(
            f"  fault {fault.name} ({fault.id}): armed {fault.armed}, reached {fault.reached}, "
            f"effect {fault.effect or 'none seen'}"
        )
    return "\n".join([*lines, f"repeat it with: {cell.replay}"])
