"""What the probes' records cannot show is refused when its file is read."""

from __future__ import annotations

from typing import Any

import pytest

from harness.engine.loading import parse
from harness.engine.usage import UsageError

UP_TO = "the probe shows"


def read(*steps: dict[str, Any], component: str = "pool", **more: Any) -> None:
    told = [*steps, {"do": "shutdown"}]
    parse({"title": "A title", "component": component, "steps": told, **more}, "text")


def refused(*steps: dict[str, Any], **more: Any) -> str:
    with pytest.raises(UsageError) as caught:
        read(*steps, **more)
    return str(caught.value)


RESET = {"do": "reset"}
LEVEL = {"do": "set_params", "level": 2}


@pytest.mark.parametrize(
    ("setup", "steps", "text"),
    [
        ({"num_envs": 33}, [RESET], f"setup.num_envs: {UP_TO} env_index up to 31"),
        ({}, [RESET, {"do": "step", "times": 2048}], f"steps: {UP_TO} action up to 4094"),
        ({}, [RESET, {"do": "rollout", "frames": 4095}], f"steps: {UP_TO} action up to 4094"),
        (
            {"horizon": 300},
            [RESET, {"do": "step", "times": 260}],
            f"setup.horizon: {UP_TO} step up to 255",
        ),
        ({}, [{"do": "reset", "times": 255}], f"steps: {UP_TO} episode up to 255"),
        ({"horizon": 1}, [RESET, {"do": "send", "times": 254}], f"{UP_TO} episode up to 255"),
    ],
)
def test_more_than_a_packed_record_holds_is_refused(setup, steps, text):
    for payload in ("scalar", "nested"):
        found = refused(*steps, matrix={"payload": ["plain", payload]}, setup=setup)
        assert text in found
        assert f"with payload '{payload}'" in found


@pytest.mark.parametrize(
    ("setup", "steps"),
    [
        ({"num_envs": 32}, [RESET]),
        ({"horizon": 50}, [RESET, {"do": "step", "times": 2047}]),
        ({"horizon": 254}, [RESET, {"do": "step", "times": 260}]),
        ({"horizon": 300}, [RESET, {"do": "step", "times": 255}]),
        ({}, [{"do": "reset", "times": 254}]),
    ],
)
def test_what_a_packed_record_just_holds_is_read(setup, steps):
    read(*steps, setup={"payload": "scalar", **setup})


def test_a_matrix_is_named_where_the_number_comes_from_there():
    found = refused(RESET, setup={"payload": "scalar"}, matrix={"num_envs": [2, 40]})
    assert (
        "matrix.num_envs: the probe shows env_index up to 31 with payload 'scalar', got 39" in found
    )


def test_more_episodes_than_a_float_tells_apart_are_refused():
    found = refused({"do": "reset", "times": 16_776})
    assert "steps: the probe shows episode up to 16776 with payload 'plain', got 16777" in found


def test_steps_whose_rewards_would_look_like_a_level_are_refused():
    long = {"do": "step", "times": 600}
    read(RESET, long, setup={"horizon": 600})
    found = refused(RESET, LEVEL, long, setup={"horizon": 600})
    assert "step up to 512 with payload 'plain' and levels, got 600" in found


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({"do": "send", "version": 2**24 + 1}, "steps[0].version: at most 16777216"),
        ({"do": "send_async", "version": 2**24 + 1}, "steps[0].version: at most 16777216"),
        ({"do": "mutate", "version": -1}, "steps[0].version: at least 1, got -1"),
        (
            {"do": "set_up", "versions": [2, 2**25]},
            "steps[0].versions: at most 16777216, got 33554432",
        ),
        (
            {"do": "race", "sends": 3, "versions_from": 2**24 - 1},
            "steps[0].versions_from: versions go up to 16777216, and these to 16777217",
        ),
        (
            {
                "fault": "hold_forward",
                "at": {"role": "worker:0", "op": "forward"},
                "during": {"do": "send", "version": 2**25},
            },
            "steps[0].during.version: at most 16777216",
        ),
    ],
)
def test_versions_that_a_float_does_not_hold_are_refused(step, text):
    assert text in refused(step, component="weights")


def test_a_level_is_one_that_rewards_can_show():
    assert "steps[1].level: at least 0, got -1" in refused(RESET, {**LEVEL, "level": -1})
    assert "steps[1].level: at most 2047, got 2048" in refused(
        RESET, {"do": "build_anew", "level": 2048}
    )
