"""The smoke selection and the self-test as their users meet them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.command import SERIAL, THREE_STEPS, harness, outcomes, write

pytestmark = pytest.mark.slow

ROWS = THREE_STEPS + "\n[matrix]\nhorizon = [2, 3]\n"
SMOKE = '[[rows]]\nrow = "pool/three_steps[horizon=3]"\nseconds = 0.1\ncatches = ["mask_lost"]\n'


def test_a_smoke_run_runs_the_rows_of_the_selection(tmp_path: Path):
    scenarios = tmp_path / "scenarios"
    write(scenarios / "pool" / "three_steps.toml", ROWS)
    write(scenarios / "smoke.toml", SMOKE)
    done = harness("run", scenarios, "--smoke", "--backend", SERIAL, "--reports", tmp_path / "r")
    assert done.code == 0, done.err
    assert outcomes(tmp_path / "r") == {"pool/three_steps[horizon=3]@serial-1": "PASS"}


def test_a_smoke_run_of_a_file_with_no_row_in_the_selection_says_that(tmp_path: Path):
    scenario = write(tmp_path / "scenarios" / "pool" / "three_steps.toml", THREE_STEPS)
    selection = write(tmp_path / "scenarios" / "smoke.toml", SMOKE.replace("three", "four"))
    done = harness("run", scenario, "--smoke", "--backend", SERIAL, "--reports", tmp_path / "r")
    assert done.code == 64
    assert done.errors == [f"harness: {scenario}: none of its rows is in {selection}"]


def test_a_row_that_is_asked_for_and_not_in_the_selection_is_said_to_be_there(tmp_path: Path):
    scenario = write(tmp_path / "scenarios" / "pool" / "three_steps.toml", ROWS)
    write(tmp_path / "scenarios" / "smoke.toml", SMOKE)
    words = ("--backend", SERIAL, "--reports", tmp_path / "r")
    done = harness("run", scenario, "--smoke", "--row", "horizon=2", *words)
    assert done.errors[-1] == "harness: --row: horizon=2: the smoke selection has no such row"


def test_a_smoke_run_without_a_selection_is_a_usage_error(tmp_path: Path):
    scenario = write(tmp_path / "scenarios" / "pool" / "three_steps.toml", ROWS)
    done = harness("run", scenario, "--smoke", "--backend", SERIAL, "--reports", tmp_path / "r")
    assert done.code == 64
    assert len(done.errors) == 1
    assert "smoke.toml" in done.err


@pytest.fixture(scope="module")
def selftest(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What a self-test of one bug says, and where it left its files."""
    root = tmp_path_factory.mktemp("selftest")
    done = harness("selftest", "mask_ignored", "--reports", root)
    assert done.code == 0, done.out + done.err
    (run,) = root.iterdir()
    return done.out, run


def _seen(selftest: tuple[str, Path]) -> dict[str, Any]:
    found = json.loads((selftest[1] / "run.json").read_text())["selftest"]
    assert isinstance(found, dict)
    return found


def test_without_a_budget_only_what_decides_is_run(selftest: tuple[str, Path]):
    (bug,) = _seen(selftest)["bugs"]
    assert bug["right"]
    assert bug["red"] == bug["expected"]
    cells = json.loads((selftest[1] / "run.json").read_text())["cells"]
    ran = {cell["id"].rpartition("@")[0] for cell in cells}
    others = {row for row in ran if "/clean_" not in row}
    assert others == set(bug["expected"])
    assert ran > others


def test_with_a_budget_what_is_declared_comes_first(tmp_path: Path):
    done = harness("selftest", "mask_ignored", "--budget", "4s", "--reports", tmp_path)
    assert done.code == 0, done.out + done.err
    assert "were left out by the budget" in done.out


def test_a_self_test_counts_the_rows_that_have_power(selftest: tuple[str, Path]):
    rows = _seen(selftest)["rows"]
    powered = {row["row"] for row in rows if row["beyond"]}
    (bug,) = _seen(selftest)["bugs"]
    assert powered == set(bug["red"])
    assert f"pool: {len(powered)} of " in selftest[0]


def test_a_self_test_leaves_a_selection(selftest: tuple[str, Path]):
    text = (selftest[1] / "smoke.toml").read_text()
    assert 'catches = ["mask_ignored"]' in text
    assert text.count("[[rows]]") == 1 + sum(
        "clean" in line for line in text.splitlines() if line.startswith("row =")
    )
