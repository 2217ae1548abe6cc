"""Drawn scenarios of replay storage on the reference, which passes them, and on wrong variants, which do not."""

from __future__ import annotations

import os

import pytest
from hypothesis import Phase, given, settings

from harness.engine.loading import Loaded
from harness.engine.selftest import planted
from harness.generate import storage_scenarios
from tests.property.bench import Bench, profile

NO_SHRINKING = (Phase.explicit, Phase.generate)
HUNTED = ("length_before_write", "batch_backwards", "rows_kept_when_emptied", "anything_taken")


def hunt(bench: Bench, name: str, config: settings) -> None:
    """Look for a scenario that the backend does not pass."""
    path = bench.generated / f"{name}.toml"
    path.unlink(missing_ok=True)

    @config
    @given(scenario=storage_scenarios(bench.storage, without=bench.without))
    def every_scenario_passes(scenario):
        bench.check(Loaded(path=path, scenario=scenario))

    every_scenario_passes()


@pytest.mark.slow
def test_the_reference_passes_every_drawn_scenario(tmp_path):
    backend = os.environ.get("HARNESS_HYPOTHESIS_BACKEND", "reference")
    bench = Bench(backend, tmp_path)
    try:
        hunt(bench, f"storage_on_{backend}", profile())
    finally:
        bench.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", HUNTED)
def test_a_hunt_finds_a_planted_bug(tmp_path, name):
    (bug,) = planted([name])
    bench = Bench(bug.backend, tmp_path, generated=tmp_path / "generated")
    try:
        with pytest.raises(AssertionError, match=rf"red: .*\b{bug.caught_by}\b"):
            hunt(bench, name, settings(profile(), phases=NO_SHRINKING))
    finally:
        bench.close()
