"""Drawn scenarios on the reference, which passes them, and on wrong pools, which do not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import Phase, given, settings

from harness.engine.loading import Loaded, load
from harness.engine.selftest import planted
from harness.generate import pool_scenarios
from harness.generate.strategies import FAULTS, INDISPENSABLE, VERBS
from tests.property.bench import Bench, profile, profile_name

# Planted bugs that nothing shows but these verbs, faults and setup keys; a hunt keeps to them.
THEMES = {
    "all_workers_of_the_process": "open_beside close_beside",
    "repetition_carried_out": "duplicate_transfer",
    "unpicklable_answered_for": "bad_reply",
    "params_at_once": "set_params",
}
MORE_THEMES = {
    "next_written": "compare",
    "repetition_taken": "duplicate_transfer",
    "reading_ends": "unrebuildable_item",
    "torn_item_waited_for": "tear_transfer",
    "full_channel_waited_for": "fill_channel stall send recv",
    "spinning_worker": "idle",
    "mapping_per_step": "mark",
    "noisy_workers": "signal_owner",
    "whole_child_reset": "reset_where",
    "terminated_alone": "",
    "factories_pickled": "",
    "dies_with_its_thread": "",
    "first_env_only": "set_params build_anew",
}
HUNTED = THEMES if profile_name() == "ci" else THEMES | MORE_THEMES
NO_SHRINKING = (Phase.explicit, Phase.generate)


def hunt(bench: Bench, name: str, config: settings, among: frozenset[str] | None = None) -> None:
    """Look for a scenario that the backend does not pass; its file shows this hunt's find alone."""
    path = bench.generated / f"{name}.toml"
    path.unlink(missing_ok=True)
    left_out = frozenset() if among is None else (VERBS | FAULTS) - INDISPENSABLE - among

    @config
    @given(scenario=pool_scenarios(bench.capabilities, without=bench.without | left_out))
    def every_scenario_passes(scenario):
        bench.check(Loaded(path=path, scenario=scenario))

    every_scenario_passes()


@pytest.mark.slow
def test_the_reference_passes_every_drawn_scenario(tmp_path):
    backend = os.environ.get("HARNESS_HYPOTHESIS_BACKEND", "reference")
    bench = Bench(backend, tmp_path)
    try:
        hunt(bench, f"pool_on_{backend}", profile())
    finally:
        bench.close()


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["shifts_rewards", "resets_all"])
def test_a_wrong_pool_is_found_and_its_shrunk_scenario_replays_red(tmp_path, wrong):
    backend = f"tests.backends.wrong:{wrong}"
    bench = Bench(backend, tmp_path, generated=tmp_path / "generated")
    try:
        with pytest.raises(AssertionError, match="FAIL") as found:
            # Not spoilt replies: these pools hand on whatever an env answers, which is found first.
            hunt(bench, wrong, profile(), (VERBS | FAULTS) - {"bad_reply"})
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


@pytest.mark.slow
@pytest.mark.parametrize("name", HUNTED)
def test_a_hunt_among_the_kinds_that_show_a_planted_bug_finds_it(tmp_path, name):
    (bug,) = planted([name])
    config = settings(profile(), phases=NO_SHRINKING)
    bench = Bench(bug.backend, tmp_path, generated=tmp_path / "generated")
    try:
        with pytest.raises(AssertionError, match=rf"red: .*\b{bug.caught_by}\b"):
            hunt(bench, name, config, frozenset(HUNTED[name].split()))
    finally:
        bench.close()
