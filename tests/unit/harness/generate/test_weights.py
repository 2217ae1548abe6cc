"""Drawn scenarios of weight sync are valid, and every verb and fault of it is drawn."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from harness.adapters._reference_weights import WEIGHTS_CAPABILITIES
from harness.engine.components import WEIGHTS
from harness.engine.loading import parse
from harness.engine.request import CellRequest
from harness.engine.support import unsupported
from harness.generate import to_toml, weights_scenarios
from harness.generate.weights import FAULTS, VERBS
from harness.model.plain import to_plain
from harness.ports.weights import WeightsCapabilities

EXAMPLES = 600
LEAST = WeightsCapabilities()
drawing = settings(
    derandomize=True, database=None, deadline=None, max_examples=EXAMPLES, phases=[Phase.generate]
)


@cache
def drawn() -> tuple[Any, ...]:
    found: list[Any] = []

    @drawing
    @given(scenario=weights_scenarios(WEIGHTS_CAPABILITIES))
    def draw(scenario):
        found.append(scenario)

    draw()
    return tuple(found)


def kinds() -> Iterator[str]:
    for scenario in drawn():
        for step in scenario.steps:
            yield getattr(step, "do", "") or getattr(step, "fault", "")
            yield getattr(getattr(step, "during", None), "do", "")


@pytest.mark.parametrize("kind", sorted(VERBS | FAULTS))
def test_every_verb_and_fault_is_drawn(kind):
    assert kind in set(kinds())


def test_a_drawn_scenario_is_one_that_a_file_can_hold():
    for scenario in drawn()[:100]:
        assert parse(tomllib.loads(to_toml(scenario)), "drawn") == scenario


def versions_of(step: Any) -> Iterator[int]:
    verb = getattr(step, "during", step)
    if hasattr(verb, "sends"):
        yield from range(verb.versions_from, verb.versions_from + verb.sends)
    elif hasattr(verb, "version"):
        yield verb.version


def test_no_two_sends_of_a_scenario_carry_one_version():
    for scenario in drawn():
        versions = [version for step in scenario.steps for version in versions_of(step)]
        assert len(set(versions)) == len(versions)


def test_whoever_declares_it_can_run_it():
    declared = {"weights": to_plain(WEIGHTS_CAPABILITIES)}
    for scenario in drawn():
        request = CellRequest(
            cell="weights/drawn[]@b",
            adapter="a:b",
            component="weights",
            setup=to_plain(scenario.setup),
            steps=scenario.steps,
            expect=("survives",),
        )
        assert unsupported(request, WEIGHTS, declared) is None


@drawing
@given(scenario=weights_scenarios(LEAST))
def test_who_declares_nothing_is_asked_for_little(scenario):
    words = {getattr(step, "do", "") for step in scenario.steps}
    assert words <= {"forward", "send", "mutate", "race", "shutdown", ""}
