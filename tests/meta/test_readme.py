"""README says what is so: its tables are those of the code; its scenario, its adapter and its scripts work."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.engine.loading import load, parse
from tests.end_to_end.command import ROOT, harness
from tests.patience import PATIENCE_S
from tools.readme_tables import README, rendered

TEXT = README.read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    """The code block of README in which this stands."""
    (found,) = (
        b for b in re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL) if containing in b
    )
    return str(found)


def run(script: str, directory: Path) -> str:
    """What a script prints in a file of its own."""
    path = directory / "script.py"
    path.write_text(script)
    done = subprocess.run(
        [sys.executable, path],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tables_are_what_the_code_has():
    assert rendered(TEXT) == TEXT, "run python -m tools.readme_tables"


def test_a_readme_without_a_place_for_tables_is_refused():
    with pytest.raises(ValueError, match="no <!-- tables"):
        rendered("# Nothing")


def test_the_scenario_is_called_as_the_one_it_is_short_for():
    scenario = parse(tomllib.loads(block("toml", "stalled")), "README.md")
    whole = load(ROOT / "scenarios" / "pool" / "stalled_env.toml").scenario
    assert (scenario.title, scenario.expect) == (whole.title, whole.expect)
    stall, stalls = (
        next(s for s in each.steps if hasattr(s, "fault")) for each in (scenario, whole)
    )
    assert stall == stalls


def test_the_smallest_adapter_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "smallest.py").write_text(block("python", "class Pool"), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    done = harness("backends", "check", "smallest:backend")
    assert done.code == 0, done.out


def test_the_first_script_of_the_reference_runs(tmp_path: Path):
    assert run(block("python", "rand_step"), tmp_path) == ""


def test_the_lease_lends_a_batch_of_envs_without_nested_entries(tmp_path: Path):
    lent = block("python", "_lease(4)").replace("\n", "\n    ")
    script = (
        "import functools\n"
        "from torchrl.envs import GymEnv\n"
        "from reference_impl.pool import AsyncEnvPool, Leased\n"
        "if __name__ == '__main__':\n"
        "    pool = AsyncEnvPool([functools.partial(GymEnv, 'Pendulum-v1')] * 4)\n"
        "    policy, td = tuple, pool.rand_action(pool.reset())\n"
        f"    {lent}\n"
        "    print(pool.resolved_exchange, len(action), roots.is_empty(), issubclass(Leased, RuntimeError))\n"
        "    pool.close()\n"
    )
    assert run(script, tmp_path) == "shm 4 True True\n"


def test_the_curriculum_switches_every_env_without_a_worker_that_restarts(tmp_path: Path):
    shown = run(block("python", "update_env_params"), tmp_path)
    assert shown.splitlines() == [
        "2.0 [1, 1, 1, 1]",
        "5.0 [2, 2, 2, 2]",
        "10.0 [3, 3, 3, 3]",
    ]
