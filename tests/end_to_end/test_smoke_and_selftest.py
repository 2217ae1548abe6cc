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


def test_a_smoke_run_without_a_selection_is_a_usage_error(tmp_path: Path):
    scenario = write(tmp_path / "scenarios" / "pool" / "three_steps.toml", ROWS)
    done = harness("run", scenario, "--smoke", "--backend", SERIAL, "--reports", tmp_path / "r")
    assert done.code == 64
    assert len(done.errors) == 1
    assert "smoke.toml" in done.err


@pytest.fixture(scope="module")
def selftest(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What a self-test of one bug says, and where it left its files; its budget is for the declared."""
    root = tmp_path_factory.mktemp("selftest")
    done = harness("selftest", "mask_ignored", "--budget", "4s", "--reports", root)
    assert done.code == 0, done.out + done.err
    (run,) = root.iterdir()
    return done.out, run


def _seen(selftest: tuple[str, Path]) -> dict[str, Any]:
    found = json.loads((selftest[1] / "run.json").read_text())["selftest"]
    assert isinstance(found, dict)
    return found


def test_what_is_declared_is_run_before_what_the_budget_may_leave_out(
    selftest: tuple[str, Path],
):
    (bug,) = _seen(selftest)["bugs"]
    assert bug["right"]
    assert bug["red"] == bug["expected"]
    assert bug["untried"] > 0
    assert "were left out by the budget" in selftest[0]


def test_a_self_test_counts_the_rows_that_have_power(selftest: tuple[str, Path]):
    rows = _seen(selftest)["rows"]
    powered = {row["row"] for row in rows if row["beyond"]}
    (bug,) = _seen(selftest)["bugs"]
    assert powered == set(bug["red"])
    assert f"pool: {len(powered)} of " in selftest[0]


def test_a_self_test_leaves_a_selection(selftest: tuple[str, Path]):
    text = (selftest[1] / "smoke.toml").read_text()
    assert 'catches = ["mask_ignored"]' in text
    assert text.count("[[rows]]") == 1
