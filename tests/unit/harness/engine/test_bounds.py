"""Numbers that no machine could keep to are refused when a scenario is read."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from harness.engine.bounds import BOUNDS, ELSEWHERE
from harness.engine.components import COMPONENTS
from harness.engine.loading import parse
from harness.engine.usage import UsageError

POOL = """
title = "a step in bounds"
component = "pool"
{setup}
[[steps]]
do = "reset"
{steps}
[[steps]]
do = "shutdown"
"""
STEP = '[[steps]]\ndo = "step"\n'
SEND = 'component = "weights"\ntitle = "a send in bounds"\n[[steps]]\ndo = "send"\n'
HOLD = '{ role = "worker:0", op = "forward" }'

WRONG = {
    "a deadline of nothing": ("", "within_s = 0", "steps[1].within_s: more than 0, got 0"),
    "a deadline before": ("", "within_s = -1", "steps[1].within_s: more than 0, got -1"),
    "a deadline that is none": ("", "within_s = nan", "within_s: a finite number, got nan"),
    "no deadline": ("", "within_s = inf", "steps[1].within_s: a finite number, got inf"),
    "a deadline of years": ("", "within_s = 1e300", "steps[1].within_s: at most 86400, got 1e+300"),
    "a start of nothing": (
        "[setup]\nstart_within_s = 0.0",
        "",
        "setup.start_within_s: more than 0, got 0",
    ),
    "a row of too many": (
        "[matrix]\nnum_envs = [2, 1000000]",
        "",
        "matrix.num_envs: at most 1024, got 1000000",
    ),
    "too often": ("", "times = 1000001", "steps[1].times: at most 1000000, got 1000001"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_number_out_of_bounds_is_named_with_its_key(case: str):
    setup, more, expected = WRONG[case]
    text = POOL.format(setup=setup, steps=STEP + more)
    with pytest.raises(UsageError) as caught:
        parse(tomllib.loads(text), "some.toml")
    assert str(caught.value).startswith("some.toml: ")
    assert expected in str(caught.value)


def test_what_is_done_during_a_hold_has_bounds_too():
    step = f'[[steps]]\nfault = "hold_forward"\nat = {HOLD}\n'
    text = f'{SEND}version = 2\n{step}during = {{ do = "mutate", version = 3, within_s = inf }}'
    with pytest.raises(UsageError, match=r"steps\[1\]\.during\.within_s: a finite number"):
        parse(tomllib.loads(text), "some.toml")


@pytest.mark.parametrize("part", ["envs = [0, 9]", "envs = [0, 0]", "envs = []", "refused_by = 9"])
def test_envs_that_are_not_there_get_no_parameters(part: str):
    text = POOL.format(setup="", steps=f'[[steps]]\ndo = "set_params"\nlevel = 2\n{part}')
    with pytest.raises(UsageError, match=r"steps\[1\]\.(envs|refused_by): .* envs"):
        parse(tomllib.loads(text), "some.toml")


def test_each_of_several_numbers_has_bounds():
    text = 'component = "weights"\ntitle = "x"\n[[steps]]\ndo = "set_up"\nversions = [1, 0]'
    with pytest.raises(UsageError, match=r"steps\[0\]\.versions: at least 1, got 0"):
        parse(tomllib.loads(text), "some.toml")


def _numbers(cls: type[Any]) -> set[str]:
    """Fields that hold a number of any size."""
    hints = get_type_hints(cls)
    return {
        field.name
        for field in fields(cls)
        if {int, float} & {hints[field.name], *get_args(hints[field.name])}
    }


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_number_of_a_scenario_has_bounds(name: str):
    component = COMPONENTS[name]
    kinds = (component.setup, *component.verbs.values(), *component.faults.values())
    several = {"envs", "workers"}  # tuples of indices
    found = set().union(*map(_numbers, kinds)) - several
    assert found <= set(BOUNDS) | ELSEWHERE
