"""Drawn scenarios on the reference, which passes them, and on wrong pools, which do not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.strategies import SearchStrategy

from harness.engine.loading import load
from harness.engine.selftest import planted
from harness.generate import pool_scenarios
from harness.generate.strategies import FAULTS, INDISPENSABLE, VERBS
from harness.model.scenario import Scenario
from tests.patience import PATIENCE_S
from tests.property.bench import NO_SHRINKING, Bench, hunt, profile, profile_name

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


def drawn(bench: Bench, among: frozenset[str] | None = None) -> SearchStrategy[Scenario[Any, Any]]:
    """Scenarios of the backend's pool, of these kinds."""
    left_out = frozenset() if among is None else (VERBS | FAULTS) - INDISPENSABLE - among
    return pool_scenarios(bench.capabilities, without=bench.without | left_out)


@pytest.mark.slow
def test_the_reference_passes_every_drawn_scenario(tmp_path):
    backend = os.environ.get("HARNESS_HYPOTHESIS_BACKEND", "reference")
    bench = Bench(backend, tmp_path)
    try:
        hunt(bench, f"pool_on_{backend}", drawn(bench), profile())
    finally:
        bench.close()


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["shifts_rewards", "resets_all"])
def test_a_wrong_pool_is_found_and_its_shrunk_scenario_replays_red(tmp_path, wrong):
    backend = f"tests.backends.wrong:{wrong}"
    bench = Bench(backend, tmp_path, generated=tmp_path / "generated")
    try:
        with pytest.raises(AssertionError, match="FAIL") as found:
            # No faults: these pools do nothing about any, which would be found instead.
            hunt(bench, wrong, drawn(bench, VERBS), profile())
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
        timeout=PATIENCE_S,
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
            hunt(bench, name, drawn(bench, frozenset(HUNTED[name].split())), config)
    finally:
        bench.close()
