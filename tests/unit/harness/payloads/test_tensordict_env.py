"""The probe env keeps torchrl's contract in every form, and restarts only who is to restart."""

from __future__ import annotations

import typing

import pytest
import torch
from torchrl.envs import check_env_specs

from harness.model import probe
from harness.payloads.env import CountingEnvFactory
from harness.payloads.link import Link
from harness.payloads.tensordict_env import PAYLOADS, env_makers
from harness.ports.pool import Payload


@pytest.fixture
def child(tmp_path, monkeypatch):
    """Makes the first child of a pool with this payload."""
    monkeypatch.setattr(Link, "observe", lambda *_, **__: None)
    link = Link(journal=str(tmp_path / "journal"), gate="@nobody")

    def make(payload, count=6):
        factories = [
            CountingEnvFactory(env_index=i, base_horizon=3, link=link, payload=payload)
            for i in range(count)
        ]
        return env_makers(factories)[0]()

    return make


def steps(observations) -> list[int]:
    return [probe.decode(row.tolist()).step for row in observations.reshape(-1, probe.WIDTH)]


def episodes(env) -> list[int]:
    """By the probes' own count: torchrl would hide a reset of those that are not masked."""
    return [each._episode for each in env._envs]


def moved(env):
    root = env.reset()
    for key in env.action_keys:
        root.set(key, torch.zeros(env.full_action_spec[key].shape))
    return env.step_mdp(env.step(root))


def test_every_payload_can_be_declared():
    assert set(typing.get_args(Payload)) == PAYLOADS


@pytest.mark.parametrize("payload", sorted(PAYLOADS - {"special"}))  # whose NaN equals nothing
def test_specs_say_what_is_returned(child, payload):
    check_env_specs(child(payload))


def test_a_batch_restarts_only_the_envs_that_are_masked(child):
    env = child("batched")
    root = moved(env)
    root.set("_reset", torch.tensor([[False], [True], [False]]))
    assert steps(env.reset(root).get("observation")) == [1, 0, 1]
    assert episodes(env) == [1, 2, 1]


def test_a_group_restarts_by_its_own_key(child):
    env = child("grouped")
    root = moved(env)
    root.set(("left", "_reset"), torch.tensor([False]))
    root.set(("right", "_reset"), torch.tensor([True]))
    shown = env.reset(root)
    assert [steps(shown.get((group, "observation"))) for group in ("left", "right")] == [[1], [0]]
    assert episodes(env) == [1, 2]


def test_groups_have_no_key_at_the_root(child):
    assert child("grouped").reset_keys == [("left", "_reset"), ("right", "_reset")]


def test_children_have_to_be_full(child):
    with pytest.raises(ValueError, match="4 envs make no full children of 3"):
        child("batched", count=4)
