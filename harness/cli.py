"""The `harness` command."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.engine import (
    adapter_check,
    components,
    doctor,
    expectations,
    listing,
    selftest,
    timescale,
)
from harness.engine import smoke as selection
from harness.engine.loading import Loaded, find, load, schema
from harness.engine.places import EXPECTED, SCENARIOS, SMOKE, around
from harness.engine.plan import Options, registered
from harness.engine.power import cover
from harness.engine.runs import columns_of, judge_again, new_directory, run
from harness.engine.usage import UsageError
from harness.exits import HARNESS, Group, code, published
from harness.model.run import RunRecord
from harness.model.selftest import Selftest
from harness.model.standing import DIFFERS, Standing, standing
from harness.model.verdict import Outcome
from harness.report.console import Progressing
from harness.report.record import read_json

REPORTS = Path("reports")
BUDGET = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run fault scenarios against reinforcement-learning backends and judge what happened."""


def _budget(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    found = BUDGET.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"a number with s, m or h, like 5m, got {text!r}")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def _time_scale(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    problem = None if value is None else timescale.CHOSEN.broken_by(value)
    if problem is not None:
        raise click.BadParameter(problem)
    return value


def _run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that every command that runs cells has."""
    for option in (
        click.option("--python", default=sys.executable, help="Interpreter of the backends."),
        click.option("--repeat", type=click.IntRange(1), default=1, help="Runs of each cell."),
        click.option("--jobs", type=click.IntRange(1), default=2, help="Cells at a time."),
        click.option("--seed", type=int, default=0, help="Seed of whatever is drawn."),
        click.option(
            "--time-scale",
            type=float,
            callback=_time_scale,
            help="What deadlines are multiplied by, from 1 on; measured if left out.",
        ),
        click.option("--budget", callback=_budget, help="Start no cell after this: 90s, 5m."),
        click.option(
            "--reports",
            type=click.Path(path_type=Path),
            default=REPORTS,
            help="Where the run's directory goes.",
        ),
        click.option("--strict", is_flag=True, help="A listed cell that passes now fails the run."),
    ):
        command = option(command)
    return command


@main.command("run")
@click.argument("scenarios", nargs=-1, type=click.Path(path_type=Path))
@click.option("--backend", "backends", multiple=True, help="Name or module:attr; repeatable.")
@click.option(
    "--row",
    "rows",
    multiple=True,
    help="Only this: a row's key, as transport=thread (values of the matrix, by key), "
    "component/scenario[key], or component/scenario; repeatable.",
)
@click.option("--smoke", is_flag=True, help="Only the rows of smoke.toml: minutes.")
@_run_options
def run_command(
    scenarios: tuple[Path, ...],
    backends: tuple[str, ...],
    rows: tuple[str, ...],
    smoke: bool,  # noqa: FBT001 - click passes options by name
    reports: Path,
    strict: bool,  # noqa: FBT001 - click passes options by name
    **how: Any,
) -> int:
    """Run scenario files, or all below directories; SCENARIOS defaults to ./scenarios."""
    paths = scenarios or (SCENARIOS,)
    loaded = [load(path) for path in find(paths)]
    options = _options(backends or ("reference",), rows, _expected_beside(loaded), how)
    if smoke:
        chosen = selection.chosen(selection.beside(each.path for each in loaded), loaded)
        options = replace(options, only=chosen)
    return _run(loaded, options, reports, strict=strict)


def _options(
    backends: tuple[str, ...], rows: tuple[str, ...], expected: Path, how: dict[str, Any]
) -> Options:
    budget_s = how.pop("budget")
    return Options(backends=backends, rows=rows, budget_s=budget_s, expected=expected, **how)


def _expected_beside(loaded: Sequence[Loaded]) -> Path:
    """Lists of known outcomes lie in `expected` beside the component's directory."""
    for each in loaded:
        beside = around(each.path) / EXPECTED
        if beside.is_dir():
            return beside
    return SCENARIOS / EXPECTED


def _run(
    loaded: Sequence[Loaded],
    options: Options,
    reports: Path,
    *,
    strict: bool,
    seen_on: str | None = None,
) -> int:
    root = new_directory(reports)
    with Progressing() as console:
        record = run(loaded, options, root, audience=console)
    written = published(record, root)
    _announce(record, root if written else None)
    if seen_on is None:  # a replay is one cell of another run, which stays the latest
        _point(reports / "latest", root)
    if seen_on is not None and seen_on != record.backends[0].id:
        click.echo(f"note: the cell was seen on {seen_on}, this is {record.backends[0].id}")
    return code(record, written=written, strict=strict)


def _point(link: Path, root: Path) -> None:
    """Make `latest` point to this run."""
    if link.is_symlink() or not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(root.name, target_is_directory=True)


def _announce(record: RunRecord, root: Path | None) -> None:
    counts = {o: sum(cell.outcome is o for cell in record.cells) for o in Outcome}
    words = ", ".join(f"{n} {o.value}" for o, n in counts.items() if n) or "no cells"
    listed = sum(standing(cell) is Standing.LISTED for cell in record.cells)
    click.echo(f"{words}; {listed} as listed")
    ran = f"{len(record.cells)} of {record.planned} cells run"
    if record.failed:
        click.echo(f"harness: cannot go on, {ran}: {record.failed}", err=True)
    elif record.interrupted:
        click.echo(f"interrupted: {ran}")
    elif expectations.nothing_judged(record.cells):
        missing = record.cells and all(cell.lacking for cell in record.cells)
        who = "this machine lacks" if missing else "no backend declares"
        click.echo(f"nothing was judged: {who} what these rows need")
    for cell in record.cells:
        where = standing(cell)
        if where is Standing.BETTER:
            click.echo(f"listed as {cell.listed_as}, but now {cell.outcome.value}: {cell.id}")
            if cell.outcome not in (Outcome.PASS, Outcome.UNSUPPORTED):
                click.echo(f"  {cell.reason}\n  {cell.replay}")
        elif where is Standing.NOT_HERE:
            click.echo(f"not run here, listed as {cell.listed_as}: {cell.id}: {cell.reason}")
        elif where in DIFFERS:
            click.echo(f"{cell.outcome.value} {cell.id}: {cell.reason}\n  {cell.replay}")
    if root is not None:
        click.echo(f"report: {root / 'index.html'}")


@main.command("replay")
@click.argument("cell")
@click.option(
    "--scenario", type=click.Path(path_type=Path), help="Its file, if not below ./scenarios."
)
@click.option("--backend", help="Name or module:attr, if not what the cell's id says.")
@_run_options
def replay_command(
    cell: str,
    scenario: Path | None,
    backend: str | None,
    reports: Path,
    strict: bool,  # noqa: FBT001 - click passes options by name
    **how: Any,
) -> int:
    """Run one cell again, by its id: component/scenario[row]@backend-version."""
    found = re.fullmatch(r"([a-z]+)/([^\[]+)\[(.*)\]@(.+)", cell)
    if found is None:
        raise UsageError("CELL", "", f"component/scenario[row]@backend, got {cell!r}")
    component, name, row, column = found.groups()
    path = scenario or SCENARIOS / component / f"{name}.toml"
    if not path.exists():
        raise UsageError(path, "", "no such file; say where the scenario is with --scenario")
    loaded = load(path)
    if loaded.name_id != f"{component}/{name}":
        raise UsageError("CELL", cell, f"{path} is {loaded.name_id}")
    if row not in {each.key for each in loaded.scenario.rows()}:
        raise UsageError(path, "matrix", f"there is no row {row!r}")
    named = backend or column.partition("-")[0]
    options = _options((named,), (row,), _expected_beside([loaded]), how)
    return _run([loaded], options, reports, strict=strict, seen_on=column)


@main.command("judge")
@click.argument("directory", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="A listed cell that passes now fails the run.")
def judge_command(directory: Path, *, strict: bool) -> int:
    """Judge a run again from its journals, and write its report anew."""
    before = read_json(directory / "run.json")
    record = judge_again(before, directory)
    if before.selftest is not None:
        bugs = selftest.planted([bug.name for bug in before.selftest.bugs])
        rows = [row.row for row in before.selftest.rows]
        return _account(selftest.account(bugs, record, rows), record, directory)
    written = published(record, directory)
    _announce(record, directory if written else None)
    return expectations.exit_code(record.cells, strict=strict) if written else HARNESS


@main.command("report")
@click.argument("directory", metavar="RUN", type=click.Path(path_type=Path))
def report_command(directory: Path) -> int:
    """Write a run's report again from its record."""
    if not published(read_json(directory / "run.json"), directory):
        return HARNESS
    click.echo(f"report: {directory / 'index.html'}")
    return 0


@main.command("expect")
@click.argument("directory", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--backend", required=True, help="Its name, as in the cells' ids or as it was run.")
@click.option("--expires", required=True, help="The version from which new entries no longer hold.")
def expect_command(directory: Path, backend: str, expires: str) -> None:
    """Print a list of known outcomes from a run, to be given its reasons by hand; what was listed keeps its own."""
    expectations.check_version("--expires", "", expires)
    record = read_json(directory / "run.json")
    asked = (each for each in record.backends if backend in (each.own_name, each.id, each.name))
    info = next(asked, None)
    cells = [cell for cell in record.cells if info is not None and cell.backend == info.id]
    if info is None or not cells:
        known = ", ".join(each.own_name for each in record.backends)
        raise UsageError("--backend", backend, f"{directory} has no cells of it, but of {known}")
    click.echo(f"for {SCENARIOS / EXPECTED / info.own_name}.toml:", err=True)
    click.echo(expectations.write(cells, info.own_name, expires), nl=False)


@main.command("list")
@click.argument("scenarios", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--backend", help="Say what this backend can run, and what it would take to run the rest."
)
@click.option("--python", default=sys.executable, help="Interpreter of the backend.")
def list_command(scenarios: tuple[Path, ...], backend: str | None, python: str) -> None:
    """List scenarios and their rows, checkers, faults and backends."""
    loaded = [load(path) for path in find(scenarios or (SCENARIOS,))]
    if backend is None:
        click.echo(listing.everything(loaded, registered()))
        return
    options = Options(backends=(backend,), python=python)
    with _scratch() as root, columns_of(options, root, _tell) as (column,):
        click.echo(listing.for_backend(loaded, column))


@main.command("schema")
@click.argument("component", type=click.Choice(list(components.COMPONENTS)))
def schema_command(component: str) -> None:
    """Print the JSON Schema of a component's scenario files."""
    click.echo(json.dumps(schema(component), indent=1))


@main.group("backends")
def backends_group() -> None:
    """Look at backends."""


@backends_group.command("check")
@click.argument("backend")
@click.option("--python", default=sys.executable, help="Interpreter of the backend.")
def check_command(backend: str, python: str) -> int:
    """Tell an adapter's mistakes from a backend's defects: declarations first, then a clean run."""
    options = Options(backends=(backend,), python=python)
    with _scratch() as root, columns_of(options, root, _tell) as (column,):
        problems = adapter_check.problems(column, root)
        looked_at = adapter_check.looked_at(column)
    good = [f"{backend}: the adapter declares what the ports ask for", *looked_at]
    click.echo("\n".join(problems or good))
    return 1 if problems else 0


@main.command("selftest")
@click.option("--jobs", type=click.IntRange(1), default=2, help="Cells at a time.")
@click.option("--repeat", type=click.IntRange(1), default=1, help="Runs of each cell.")
@click.option("--seed", type=int, default=0, help="Draws what is run while the budget lasts.")
@click.option(
    "--budget",
    "budget_s",
    callback=_budget,
    help="Run the rows too in which no bug is declared to show, until this is over: 10m, 2h.",
)
@click.option("--reports", type=click.Path(path_type=Path), default=REPORTS, help="Where it goes.")
@click.argument("names", nargs=-1)
def selftest_command(names: tuple[str, ...], reports: Path, **how: Any) -> int:
    """Run planted bugs: each must turn its rows red, by the checker that has to catch it."""
    bugs = selftest.planted(names)
    root = new_directory(reports)
    loaded = [load(path) for path in find((SCENARIOS,))]
    options = Options(backends=tuple(bug.backend for bug in bugs), **how)
    order = selftest.order(bugs, options.seed, everything=options.budget_s is not None)
    with Progressing() as console:
        record = run(loaded, options, root, audience=console, order=order)
    seen = selftest.account(bugs, record, [name for each in loaded for name in each.row_ids()])
    return _account(seen, record, root)


def _account(seen: Selftest, record: RunRecord, root: Path) -> int:
    """Write and tell what planted bugs came to."""
    written = published(replace(record, selftest=seen), root)
    click.echo(selftest.table(seen))
    if written:
        (root / SMOKE).write_text(selection.render(cover(seen.rows)), encoding="utf-8")
        click.echo(f"report: {root / 'index.html'}")
    stopped = not written or record.failed or record.interrupted
    return code(record, written=written) if stopped else int(not seen.right)


@main.command("doctor")
def doctor_command() -> None:
    """Say what this machine lets the harness see and do."""
    click.echo(doctor.report())


def _tell(line: str) -> None:
    click.echo(line, err=True)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A directory that goes with the command."""
    with tempfile.TemporaryDirectory(prefix="harness-") as name:
        yield Path(name)
