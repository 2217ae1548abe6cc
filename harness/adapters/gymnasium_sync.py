"""The gymnasium_sync backend: `SyncVectorEnv`, which steps its envs one after the other in the caller's thread."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib.metadata import version

import gymnasium
import numpy as np

from harness.adapters import _gymnasium_env as form
from harness.adapters.gymnasium import _Pool
from harness.ports import pool as port
from harness.ports.backend import Backend


class _SyncPool(_Pool):
    def __init__(self, setup: port.PoolSetup, envs: Sequence[port.EnvFactory], _: float) -> None:
        probes = [functools.partial(form.GymnasiumProbe, factory) for factory in envs]
        self._envs = gymnasium.vector.SyncVectorEnv(probes)
        self._index = range(setup.num_envs)

    def step(self, actions: port.Floats) -> port.Batch:
        column = np.asarray(actions, dtype=np.float32).reshape(-1, 1)
        return self._batch(*self._envs.step(column)[:4])

    def worker_pids(self) -> list[int]:
        return []


_CAPABILITIES = port.PoolCapabilities(
    verbs=frozenset({"reset_where", "seed", "params_attribute"}),
    setup={
        "transport": frozenset({"thread"}),
        "payload": form.FLAT | {"nested"},
        "ends": form.ENDS,
    },
    promises_forms=True,
    autoreset="next_step",
)
backend = Backend(
    name="gymnasium_sync",
    version=functools.partial(version, "gymnasium"),
    packages=("gymnasium",),
    pool=port.PoolPort(capabilities=_CAPABILITIES, make=_SyncPool),
)
