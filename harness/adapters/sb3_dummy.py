"""The sb3_dummy backend: stable-baselines3's `DummyVecEnv`, all of one thread, and its `ReplayBuffer`."""

from __future__ import annotations

from dataclasses import replace

from stable_baselines3.common.vec_env import DummyVecEnv

from harness.adapters import _sb3_storage
from harness.adapters._sb3 import backend_of
from harness.ports.pool import PoolCapabilities

_CAPABILITIES = PoolCapabilities(
    verbs=frozenset(
        {"seed", "params_attribute", "params_method"}
    ),  # what is sent stays where it is until it is waited for
    promises_forms=True,
    setup={"transport": frozenset({"thread"})},
)
backend = replace(
    backend_of("sb3_dummy", _CAPABILITIES, lambda makers, _: DummyVecEnv(makers)),
    storage=_sb3_storage.port,
)
