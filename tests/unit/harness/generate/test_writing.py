from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.engine.loading import find, load, parse
from harness.faults.payload import Raise, Stall
from harness.generate import pool_scenarios, to_toml
from harness.model.scenario import Expect, Expected, Heal, Placement, Scenario
from harness.ports.pool import PoolSetup
from harness.ports.pool_verbs import Reset, Shutdown, Step
from tests.unit.harness.generate.capabilities import EVERYTHING

ROOT = Path(__file__).parents[4]
FILES = find((ROOT / "scenarios",))


def scenario(*steps, **rest) -> Scenario[Any, Any]:
    return Scenario(
        **{"title": "A title", "component": "pool", "setup": PoolSetup(), "steps": steps, **rest}
    )


def read(text: str) -> Scenario[Any, Any]:
    return parse(tomllib.loads(text), "text")


@settings(deadline=None, derandomize=True, database=None)
@given(drawn=pool_scenarios(EVERYTHING))
def test_a_drawn_scenario_is_read_back_as_it_was(drawn):
    assert read(to_toml(drawn)) == drawn


@settings(deadline=None, derandomize=True, database=None)
@given(title=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_title_is_read_back_as_it_was(title):
    given_title = scenario(Reset(), title=title)
    assert read(to_toml(given_title)) == given_title


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_that_a_person_wrote_is_read_back_as_it_was(path):
    written = load(path).scenario
    assert read(to_toml(written)) == written


def test_a_scenario_is_written_as_a_person_would_write_it():
    fault = Stall(at=Placement(role="worker:0", op="step", k=2), id="f1")
    steps = (Reset(), fault, Step(times=2), Heal(heal="f1"), Shutdown())
    recovers = Expect(outcome=Expected.RECOVERS)
    text = to_toml(scenario(*steps, setup=PoolSetup(horizon=3), expect=recovers))
    assert text == (
        'title = "A title"\n'
        'component = "pool"\n'
        "\n"
        "[setup]\n"
        "horizon = 3\n"
        "\n"
        "[[steps]]\n"
        'do = "reset"\n'
        "\n"
        "[[steps]]\n"
        'fault = "stall"\n'
        'id = "f1"\n'
        'at = { role = "worker:0", op = "step", k = 2 }\n'
        "\n"
        "[[steps]]\n"
        'do = "step"\n'
        "times = 2\n"
        "\n"
        "[[steps]]\n"
        'heal = "f1"\n'
        "\n"
        "[[steps]]\n"
        'do = "shutdown"\n'
        "\n"
        "[expect]\n"
        'outcome = "recovers"\n'
    )


def test_the_id_of_a_fault_that_nothing_refers_to_goes_without_saying():
    at = Placement(role="worker", op="reset")
    assert "id" not in to_toml(scenario(Reset(), Raise(at=at, id="f1"))).split()


def test_an_id_that_the_loader_would_not_give_is_written():
    at = Placement(role="worker", op="reset")
    assert 'id = "broken"' in to_toml(scenario(Reset(), Raise(at=at, id="broken")))


def test_several_accepted_outcomes_are_a_list():
    either = Expect(outcome=(Expected.SURVIVES, Expected.RECOVERS))
    assert 'outcome = ["survives", "recovers"]' in to_toml(scenario(Reset(), expect=either))
