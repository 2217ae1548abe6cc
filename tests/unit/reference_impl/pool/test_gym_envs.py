"""A gymnasium env becomes what torchrl's wrapper makes of it, without a search for other libraries."""

from __future__ import annotations

import sys

import gymnasium
import pytest
from torchrl.envs import GymWrapper

from reference_impl.pool.gym_envs import GymnasiumEnv
from tests.unit.reference_impl.pool.test_gym_steps import SPACES, Episodes


@pytest.mark.parametrize("spaces", SPACES)
def test_specs_are_those_of_torchrls_wrapper(spaces):
    mine, torchrls = (wrap(Episodes(spaces=spaces)) for wrap in (GymnasiumEnv, GymWrapper))
    assert mine.specs == torchrls.specs
    assert mine.batch_size == torchrls.batch_size


def test_no_library_is_imported_whose_envs_may_be_many(monkeypatch):
    for name in [each for each in sys.modules if each.split(".")[0] == "stable_baselines3"]:
        monkeypatch.delitem(sys.modules, name)
    GymnasiumEnv(Episodes())
    found = "stable_baselines3" in sys.modules
    for name in [each for each in sys.modules if each.split(".")[0] == "stable_baselines3"]:
        del sys.modules[name]
    assert not found


@pytest.mark.parametrize("imported", [False, True])
def test_a_vector_of_envs_has_their_number_as_its_batch_size(monkeypatch, imported):
    if imported:
        pytest.importorskip("stable_baselines3")
    else:
        monkeypatch.delitem(sys.modules, "stable_baselines3", raising=False)
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    vector = gymnasium.vector.SyncVectorEnv([Episodes] * 3, autoreset_mode=mode)
    env = GymnasiumEnv(vector)
    assert env.batch_size == (3,)
    assert env._is_batched or env.base_env._is_batched
