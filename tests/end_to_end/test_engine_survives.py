"""Whatever a backend does to its process costs that cell its verdict, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.command import THREE_STEPS, harness, record, write

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hostile")]

HOSTILE = "tests.backends.hostile"
OURS = "HARNESS_TEST_RUN"  # in the environment of all that this run starts, and of nobody else
OUTCOMES = {
    "deadlocks": ("HANG", "blocked: step"),
    "spins": ("HANG", "spinning: step"),
    "is_stopped": ("HANG", "frozen: step"),
    "segfaults": ("CRASH", "signal 11"),
    "exits": ("CRASH", "exit code 7"),
    "exits_quietly": ("CRASH", "exit code 0"),
    "floods_stderr": ("PASS", "observations"),
    "leaves_grandchildren": ("LEAK", "still there"),
    "unlinks_its_journal": ("PASS", "observations"),
    "raises": ("FAIL", "SystemExit"),
    "kills_its_guardian": ("HARNESS-ERROR", "guardian"),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of three steps against every hostile backend, and a well-behaved one last."""
    root = tmp_path_factory.mktemp("hostile")
    scenario = write(root / "three_steps.toml", THREE_STEPS)
    backends = [f"{HOSTILE}:{name}" for name in OUTCOMES]
    named = [word for name in backends for word in ("--backend", name)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OURS, str(root))
        done = harness(
            "run", scenario, *named, "--backend", "tests.backends.serial:backend", "--reports", root
        )
    assert done.code == 3, done.err  # one cell lost its guardian
    return root


def _cell(reports: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        cell for cell in record(reports)["cells"] if cell["id"].endswith(f"@{name}-1")
    )
    return found


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_hostile_backend_gets_its_own_outcome(reports: Path, name: str):
    outcome, reason = OUTCOMES[name]
    cell = _cell(reports, name)
    assert cell["outcome"] == outcome, cell["reason"]
    assert reason in cell["reason"]


def test_the_run_goes_on_after_every_hostile_backend(reports: Path):
    assert _cell(reports, "serial")["outcome"] == "PASS"


def test_both_grandchildren_are_found(reports: Path):
    cell = _cell(reports, "leaves_grandchildren")
    assert sum(finding["leak"] for finding in cell["findings"]) == 2


@pytest.mark.parametrize(("name", "line"), [("deadlocks", "strike"), ("spins", "strike")])
def test_the_stacks_of_a_hung_cell_show_where_it_was(reports: Path, name: str, line: str):
    directory = reports / "latest" / _cell(reports, name)["directory"]
    assert line in (directory / "stacks.txt").read_text()


def test_a_flood_of_stderr_is_kept_at_both_ends_only(reports: Path):
    directory = reports / "latest" / _cell(reports, "floods_stderr")["directory"]
    text = (directory / "stderr.txt").read_bytes()
    assert len(text) < 200_000
    assert b"bytes cut" in text


def test_nothing_of_the_cells_is_left_on_the_machine(reports: Path):
    ours = f"{OURS}={reports}".encode()
    environments = {path: _environment(path) for path in Path("/proc").glob("[0-9]*/environ")}
    assert [path for path, environment in environments.items() if ours in environment] == []


def _environment(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:
        return []
