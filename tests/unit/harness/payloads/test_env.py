"""The probe env shows its record in its payload's form, and spoils a reply when it is told to."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from harness.model import probe
from harness.payloads import forms
from harness.payloads.env import CountingEnv
from harness.payloads.link import Spoilt
from harness.payloads.spoiling import UnpicklableError


class Telling:
    """A link that journals nothing and gives these orders, one a question."""

    def __init__(self, *orders: Spoilt | None) -> None:
        self.orders = list(orders)
        self.effects: list[str] = []

    def observe(self, role: str, op: str, **data: Any) -> None:
        pass

    def pass_gate(self, _role: str, _op: str, edge: str = "before") -> Spoilt | None:
        return self.orders.pop(0) if self.orders and edge == "before" else None

    def record_effect(self, _role: str, spoilt: Spoilt) -> None:
        self.effects.append(spoilt.defect)


def env_of(payload: Any = "plain", defect: Any = None, **kwargs: Any) -> CountingEnv:
    spoilt = None if defect is None else Spoilt(fault="f1", defect=defect, marker="marked")
    link: Any = Telling(None, None, spoilt)  # construct, reset, step
    return CountingEnv("worker:0", 1, 2, link, payload, **kwargs)


def seen(payload: Any, tree: Any) -> probe.Observation:
    return probe.decode(forms.read(forms.form_of(payload, 1), tree))


@pytest.mark.parametrize("payload", ["plain", "scalar", "image", "nested", "special", "differing"])
def test_an_observation_has_the_form_of_its_payload(payload):
    env = env_of(payload)
    assert seen(payload, env.reset()).step == 0
    observation, *_ = env.step(5.0)
    assert (seen(payload, observation).step, seen(payload, observation).action) == (1, 5)


def test_a_reused_array_is_one_object_that_is_written_over():
    env = env_of("reused")
    first = env.reset()
    again, *_ = env.step(5.0)
    assert again is first
    assert seen("reused", first).step == 1


def test_an_array_that_is_not_reused_stays_as_it_was():
    env = env_of()
    first = env.reset()
    env.step(5.0)
    assert seen("plain", first).step == 0


def test_a_reward_can_be_an_array_of_one_element():
    env = env_of("reward_array")
    env.reset()
    _, reward, *_ = env.step(5.0)
    assert (reward.shape, reward.dtype) == ((1,), np.float32)


@pytest.mark.parametrize(
    ("ends", "flags"),
    [
        ("split", [(False, True), (False, True)]),
        ("truncated", [(False, True), (False, True)]),
        ("both", [(True, True), (True, True)]),
        ("by_turns", [(True, False), (False, True)]),
    ],
)
def test_episodes_end_as_the_setup_says(ends, flags):
    env = env_of(ends=ends)
    found = []
    for _ in flags:
        env.reset()
        found.append([env.step(0.0)[2:] for _ in range(3)][-1])
    assert found == flags


@pytest.mark.parametrize(
    ("payload", "defect", "words"),
    [
        ("plain", "shape", r"got float32 \[9\]"),
        ("plain", "dtype", r"got float64 \[8\]"),
        ("nested", "missing_key", "inner/number is missing"),
    ],
)
def test_a_spoilt_reply_is_no_observation_of_the_form(payload, defect, words):
    env = env_of(payload, defect)
    env.reset()
    observation, *_ = env.step(5.0)
    with pytest.raises(ValueError, match=words):
        seen(payload, observation)
    link: Any = env._link
    assert link.effects == [defect]


@pytest.mark.parametrize("defect", ["shape", "dtype"])
def test_a_reply_in_an_array_that_is_written_over_can_be_spoilt(defect):
    env = env_of("reused", defect)
    env.reset()
    observation, *_ = env.step(5.0)
    with pytest.raises(ValueError, match="an observation is"):
        seen("reused", observation)
    assert seen("reused", env.step(6.0)[0]).step == 2


def test_only_one_reply_is_spoilt():
    env = env_of(defect="shape")
    env.reset()
    env.step(5.0)
    assert seen("plain", env.step(6.0)[0]).step == 2


def test_what_cannot_be_pickled_comes_beside_a_sound_observation():
    env = env_of(defect="unpicklable")
    env.reset()
    observation, *_ = env.step(5.0)
    assert seen("plain", observation).step == 1
    link: Any = env._link
    assert link.effects == []  # a backend that drops it is not struck
    with pytest.raises(UnpicklableError, match="marked"):
        pickle.dumps(env.info)
    assert link.effects == ["unpicklable"]
    env.step(6.0)
    assert env.info == {}
