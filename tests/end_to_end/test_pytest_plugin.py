"""Scenario files as pytest items."""

from __future__ import annotations

import pytest

from tests.backends.slow import SHORT, TOLD
from tests.end_to_end.command import ROOT, THREE_STEPS

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

INI = "[pytest]\nharness_scenarios = true\n"
NEVER = THREE_STEPS.replace(
    'do = "step"\ntimes = 3',
    'fault = "raise"\nat = { role = "worker:0", op = "step" }\n[[steps]]\ndo = "reset"',
).replace('within_s = 1.0\n\n[[steps]]\ndo = "shutdown"', '\n\n[[steps]]\ndo = "shutdown"')


@pytest.fixture
def there(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project with one scenario; ours is importable from it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    _scenario(pytester, "three_steps", THREE_STEPS)
    return pytester


def _scenario(pytester: pytest.Pytester, name: str, text: str) -> None:
    directory = pytester.path / "scenarios" / "pool"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.toml").write_text(text)


def _run(pytester: pytest.Pytester, backend: str, *words: str) -> pytest.RunResult:
    chosen = f"--harness-backend=tests.backends.{backend}"
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", chosen, "-rA", *words)


def test_the_plugin_is_inert_until_opted_into(there: pytest.Pytester):
    result = there.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes()
    assert "harness" not in result.stdout.str().replace("rl-fault-harness", "")


def test_a_backend_without_opting_in_is_a_usage_error(there: pytest.Pytester):
    result = _run(there, "serial:backend")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--harness-backend needs `harness_scenarios = true`*"])


WRONG_OPTIONS = {
    "--harness-backend=nonesuch": "--harness-backend: nonesuch: no such backend, there are *",
    "--harness-time-scale=nan": "--harness-time-scale: a finite number, got nan",
    "--harness-repeat=0": "--harness-repeat: at least 1",
}


@pytest.mark.parametrize("option", WRONG_OPTIONS)
def test_a_wrong_option_is_one_usage_error(there: pytest.Pytester, option: str):
    there.makeini(INI)
    result = there.runpytest_subprocess("-p", "no:cacheprovider", option, "scenarios")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {WRONG_OPTIONS[option]}"])
    assert "Traceback" not in result.stderr.str()


def test_a_clean_row_is_a_pass(there: pytest.Pytester):
    there.makeini(INI)
    _run(there, "serial:backend", "scenarios").assert_outcomes(passed=1)


def test_a_checkout_below_a_directory_of_scenarios_is_like_any_other(there: pytest.Pytester):
    root = there.path / "scenarios" / "checkout"
    (root / "scenarios" / "pool").mkdir(parents=True)
    (root / "scenarios" / "pool" / "three_steps.toml").write_text(THREE_STEPS)
    (root / "other.toml").write_text("")
    (root / "pytest.ini").write_text(INI)
    _run(there, "serial:backend", str(root)).assert_outcomes(passed=1)


def test_an_expectation_file_is_not_collected(there: pytest.Pytester):
    there.makeini(INI)
    expected = there.path / "scenarios" / "expected"
    expected.mkdir()
    (expected / "serial.toml").write_text("")
    _run(there, "serial:backend", "scenarios").assert_outcomes(passed=1)


SMOKE = '[[rows]]\nrow = "pool/three_steps[horizon=3]"\nseconds = 0.1\ncatches = []\n'


def test_only_rows_of_the_smoke_selection_are_collected_if_asked_for(there: pytest.Pytester):
    there.makeini(INI)
    _scenario(there, "three_steps", THREE_STEPS + "\n[matrix]\nhorizon = [2, 3]\n")
    (there.path / "scenarios" / "smoke.toml").write_text(SMOKE)
    _run(there, "serial:backend", "scenarios").assert_outcomes(passed=2)
    _run(there, "serial:backend", "scenarios", "--harness-smoke").assert_outcomes(passed=1)


def test_a_smoke_run_without_a_selection_is_one_collection_error(there: pytest.Pytester):
    there.makeini(INI)
    result = _run(there, "serial:backend", "scenarios", "--harness-smoke")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*--smoke: there is no *smoke.toml"])


def test_a_red_row_is_a_failure_that_prints_its_replay(there: pytest.Pytester):
    there.makeini(INI)
    result = _run(there, "hostile:raises", "scenarios")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["FAIL pool/three_steps*@raises-1", "repeat it with: harness replay *"]
    )


def test_a_crash_is_a_failure(there: pytest.Pytester):
    there.makeini(INI)
    _run(there, "hostile:exits", "scenarios").assert_outcomes(failed=1)


def test_a_row_that_the_backend_does_not_claim_is_skipped_with_its_reason(there: pytest.Pytester):
    there.makeini(INI)
    _scenario(there, "three_steps", THREE_STEPS + '\n[matrix]\nexchange = ["slots"]\n')
    result = _run(there, "serial:backend", "scenarios")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*the backend declares no exchange=slots"])


def test_a_row_whose_fault_does_not_fire_is_an_error(there: pytest.Pytester):
    there.makeini(INI)
    _scenario(there, "three_steps", NEVER)
    _run(there, "serial:backend", "scenarios").assert_outcomes(errors=1)


def test_a_listed_outcome_is_an_expected_failure(there: pytest.Pytester):
    there.makeini(INI)
    expected = there.path / "scenarios" / "expected"
    expected.mkdir()
    (expected / "raises.toml").write_text(
        '[[cells]]\ncell = "pool/three_steps[]"\noutcome = "FAIL"\nreason = "known"\nexpires = "2"\n'
    )
    _run(there, "hostile:raises", "scenarios").assert_outcomes(xfailed=1)


def test_a_broken_file_is_one_collection_error(there: pytest.Pytester):
    there.makeini(INI)
    _scenario(there, "three_steps", "title = ")
    result = _run(there, "serial:backend", "scenarios")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*three_steps.toml: not valid TOML*"])


def test_rows_can_run_on_several_workers(there: pytest.Pytester):
    there.makeini(INI)
    _scenario(there, "four_rows", THREE_STEPS + "\n[matrix]\nhorizon = [2, 3, 4, 5]\n")
    _run(there, "serial:backend", "scenarios", "-n", "2").assert_outcomes(passed=5)


def test_no_worker_runs_a_row_while_another_confirms_one(
    there: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    told = there.path / "told.txt"
    monkeypatch.setenv(TOLD, str(told))
    there.makeini(INI)
    horizons = [SHORT, *range(SHORT + 1, SHORT + 8)]
    _scenario(there, "three_steps", THREE_STEPS + f"\n[matrix]\nhorizon = {horizons}\n")
    words = ("scenarios", "-n", "2", "--harness-time-scale=1")
    _run(there, "slow:tells_when_it_was_there", *words)
    runs = [list(map(int, line.split())) for line in told.read_text().splitlines()]
    alone = [run for run in runs if run[0] == SHORT][1]
    beside = [run for run in runs if run[1] < alone[2] and alone[1] < run[2]]
    assert beside == [alone]
