"""The torchrl_serial backend: torchrl's `SerialEnv`, which steps its envs in the caller's thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchrl.envs import SerialEnv

from harness.adapters._torchrl_batched import USE_BUFFERS, backend_of, close
from harness.adapters.tensordict_pool import Dialect
from harness.payloads.tensordict_env import env_makers
from harness.ports.pool import EnvFactory, PoolSetup


def _build(setup: PoolSetup, factories: Sequence[EnvFactory], _: float) -> Any:
    makers = env_makers(factories)
    pool = SerialEnv(len(makers), makers, use_buffers=USE_BUFFERS[setup.exchange])
    pool.start()  # left to itself it makes its envs in the first reset
    return pool


backend = backend_of(
    "torchrl_serial",
    {"transport": frozenset({"thread"})},
    Dialect(build=_build, worker_pids=lambda _: [], close=close),
)
