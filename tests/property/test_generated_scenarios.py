"""Drawn scenarios on the reference, which passes them, and on wrong pools, which do not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given

from harness.engine.loading import Loaded, load
from harness.generate import pool_scenarios
from tests.property.bench import Bench, profile


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    bench = Bench("reference", tmp_path_factory.mktemp("reference"))
    yield bench
    bench.close()


def hunt(bench: Bench, name: str) -> None:
    """Look for a scenario that the backend does not pass; its file shows this hunt's find alone."""
    path = bench.generated / f"{name}.toml"
    path.unlink(missing_ok=True)

    @profile()
    @given(scenario=pool_scenarios(bench.capabilities))
    def every_scenario_passes(scenario):
        bench.check(Loaded(path=path, scenario=scenario))

    every_scenario_passes()


@pytest.mark.slow
def test_the_reference_passes_every_drawn_scenario(reference):
    hunt(reference, "pool_on_reference")


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["shifts_rewards", "resets_all"])
def test_a_wrong_pool_is_found_and_its_shrunk_scenario_replays_red(tmp_path, wrong):
    backend = f"tests.backends.wrong:{wrong}"
    bench = Bench(backend, tmp_path, generated=tmp_path / "generated")
    try:
        with pytest.raises(AssertionError, match="FAIL") as found:
            hunt(bench, wrong)
    finally:
        bench.close()
    path = tmp_path / "generated" / f"{wrong}.toml"
    assert f"harness run {path} --backend {backend}" in str(found.value)
    assert len(load(path).scenario.steps) <= 4
    replay = ["run", str(path), "--backend", backend, "--reports", str(tmp_path / "reports")]
    again = subprocess.run(
        [sys.executable, "-m", "harness", *replay],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert again.returncode == 1, again.stdout + again.stderr
