"""Drawn scenarios of weight sync and replay storage: the reference passes them, wrong variants do not."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.strategies import SearchStrategy

from harness.engine.selftest import planted
from harness.generate import storage_scenarios, weights_scenarios
from harness.model.scenario import Scenario
from tests.property.bench import NO_SHRINKING, Bench, hunt, profile

HUNTED = {
    "weights": ("half_applied_kept", "subset_ignored", "failure_acked", "restarted_on_the_first"),
    "storage": (
        "length_before_write",
        "batch_backwards",
        "rows_kept_when_emptied",
        "anything_taken",
    ),
}


def drawn(bench: Bench, component: str) -> SearchStrategy[Scenario[Any, Any]]:
    """Scenarios of one component of the backend."""
    if component == "weights":
        return weights_scenarios(bench.weights, without=bench.without)
    return storage_scenarios(bench.storage, without=bench.without)


@pytest.mark.slow
@pytest.mark.parametrize("component", HUNTED)
def test_the_reference_passes_every_drawn_scenario(tmp_path, component):
    backend = os.environ.get("HARNESS_HYPOTHESIS_BACKEND", "reference")
    bench = Bench(backend, tmp_path)
    try:
        hunt(bench, f"{component}_on_{backend}", drawn(bench, component), profile())
    finally:
        bench.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("component", "name"),
    [(component, name) for component, names in HUNTED.items() for name in names],
)
def test_a_hunt_finds_a_planted_bug(tmp_path, component, name):
    (bug,) = planted([name])
    config = settings(profile(), phases=NO_SHRINKING)
    bench = Bench(bug.backend, tmp_path, generated=tmp_path / "generated")
    try:
        with pytest.raises(AssertionError, match=rf"red: .*\b{bug.caught_by}\b"):
            hunt(bench, name, drawn(bench, component), config)
    finally:
        bench.close()
