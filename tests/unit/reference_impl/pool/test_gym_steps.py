"""Gymnasium envs show through slots what torchrl's wrapper shows of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torchrl.envs import GymWrapper

from reference_impl.core.errors import WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.gym_steps import GymSteps

SPACES: dict[str, tuple[Any, Any]] = {
    "box": (gymnasium.spaces.Box(-9, 9, (3,)), gymnasium.spaces.Box(-1, 1, (2,))),
    "discrete": (gymnasium.spaces.Box(-9, 9, (3,)), gymnasium.spaces.Discrete(3)),
    "image": (
        gymnasium.spaces.Box(0, 255, (8, 8, 3), dtype=np.uint8),
        gymnasium.spaces.Discrete(3),
    ),
    "dict": (
        gymnasium.spaces.Dict({"a": gymnasium.spaces.Box(-9, 9, (2,))}),
        gymnasium.spaces.Box(-1, 1, (2,)),
    ),
    "shifted": (gymnasium.spaces.Box(-9, 9, (3,)), gymnasium.spaces.Discrete(3, start=1)),
}
SHORT = {"box": True, "discrete": True, "image": True, "dict": False, "shifted": False}


class Episodes(gymnasium.Env):
    """Shows its step count; ends after `length` steps, truncated if that is odd."""

    def __init__(self, length=3, spaces="box", fails_in=0):
        self.observation_space, self.action_space = SPACES[spaces]
        self.length, self.fails_in = length, fails_in
        self.steps = self.in_episode = 0
        self.kept = []

    def _shown(self):
        if isinstance(self.observation_space, gymnasium.spaces.Dict):
            return {"a": np.full(2, self.in_episode, np.float32)}
        space = self.observation_space
        return np.full(space.shape, self.in_episode, space.dtype)

    def reset(self, *, seed=None, options=None):  # noqa: ARG002 - gymnasium's signature
        super().reset(seed=seed)
        self.in_episode = 0
        return self._shown(), {}

    def step(self, action):
        self.steps += 1
        self.in_episode += 1
        if self.steps == self.fails_in:
            raise LookupError("planned")
        self.kept.append(action)
        over = self.in_episode >= self.length
        odd = bool(self.length % 2)
        reward = float(np.sum([np.sum(each) for each in self.kept]))
        return self._shown(), reward, over and not odd, over and odd, {}


@pytest.fixture
def make():
    pools = []

    def make_one(makers, **options):
        pool = AsyncEnvPool(makers, **{"start_method": "fork", "exchange": "shm", **options})
        pools.append(pool)
        return pool

    yield make_one
    for pool in pools:
        pool.close()


def same(ours, theirs):
    ours, theirs = ours.exclude("env_index", "action"), theirs.exclude("action")
    keys = set(theirs.keys(include_nested=True, leaves_only=True))
    assert set(ours.keys(include_nested=True, leaves_only=True)) == keys
    for key in keys:
        assert torch.equal(ours[key], theirs[key]), key
        assert ours[key].dtype is theirs[key].dtype, key


@pytest.mark.parametrize("spaces", SPACES)
@pytest.mark.parametrize("options", [{}, {"exchange": "queue"}], ids=["slots", "value"])
def test_steps_and_resets_equal_those_of_the_wrapped_envs(make, spaces, options):
    makers = [partial(Episodes, length, spaces) for length in (2, 3)]
    pool = make(makers, **options)
    actions = [pool.full_action_spec.rand() for _ in range(7)]
    for ours, theirs in zip(shown(pool, actions), shown_alone(makers, actions), strict=True):
        same(ours, theirs)


def shown(env, actions):
    root = env.reset()
    came = [root.clone()]
    for action in actions:
        step, root = env.step_and_maybe_reset(root.update(action))
        came += [step.clone(), root.clone()]
    return came


def shown_alone(makers, actions):
    """Each wrapped env by itself, stacked."""
    alone = [
        shown(wrapped(maker), [action[env] for action in actions])
        for env, maker in enumerate(makers)
    ]
    return [torch.stack(rows) for rows in zip(*alone, strict=True)]


def wrapped(maker):
    return GymWrapper(maker())


@pytest.mark.parametrize("spaces", SPACES)
def test_the_short_way_is_taken_where_the_observation_is_one_array(make, monkeypatch, spaces):
    inherited = GymSteps.stepped

    def noted(self):
        self._env.unwrapped.length = 1
        return inherited(self)

    monkeypatch.setattr(GymSteps, "stepped", noted)  # in the forked workers
    pool = make([partial(Episodes, 50, spaces)] * 2)
    step = pool.step(pool.rand_action(pool.reset()))
    taken = step["next", "done"].flatten().tolist()
    assert taken == [SHORT[spaces]] * 2


def test_async_steps_equal_synchronous_ones(make):
    pools = [make([partial(Episodes, length) for length in (2, 3)]) for _ in range(2)]
    root, same_root = (pool.reset() for pool in pools)
    for _ in range(5):
        action = torch.full((2, 2), 0.5)
        pools[0].async_step_and_maybe_reset_send(root.set("action", action))
        step, root = pools[0].async_step_and_maybe_reset_recv(2)
        same_step, same_root = pools[1].step_and_maybe_reset(same_root.set("action", action))
        same(step, same_step.exclude("env_index"))
        assert torch.equal(root["observation"], same_root["observation"])


def test_a_step_that_raises_names_the_env(make):
    pool = make([Episodes, partial(Episodes, fails_in=2)])
    root = pool.rand_action(pool.reset())
    _, root = pool.step_and_maybe_reset(root)
    with pytest.raises(WorkerError, match=r"worker 1 .*LookupError: planned"):
        pool.step_and_maybe_reset(root)


def test_an_action_that_the_env_keeps_does_not_change(make):
    pool = make([Episodes])
    root = pool.reset()
    rewards = []
    for value in (0.25, 0.5):
        step, root = pool.step_and_maybe_reset(root.set("action", torch.full((1, 2), value)))
        rewards.append(step["next", "reward"].item())
    assert rewards == [0.5, 1.5]
