"""The gymnasium backend: `AsyncVectorEnv` in its default autoreset mode."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from harness.model import probe
from harness.ports import pool as port
from harness.ports.backend import Backend


class _GymnasiumProbe(gymnasium.Env[port.Floats, port.Floats]):
    def __init__(self, factory: port.EnvFactory) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (probe.WIDTH,))
        self.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
        self._env = factory()

    def reset(self, *, seed: int | None = None, **_: Any) -> tuple[port.Floats, dict[str, Any]]:
        return self._env.reset(seed), {}

    def step(self, action: port.Floats) -> tuple[port.Floats, float, bool, bool, dict[str, Any]]:
        return *self._env.step(float(action[0])), {}

    def close(self) -> None:
        self._env.close()


class _Pool:
    def __init__(self, setup: port.PoolSetup, envs: Sequence[port.EnvFactory], _: float) -> None:
        make = functools.partial(gymnasium.vector.AsyncVectorEnv, context=setup.start_method)
        probes = [functools.partial(_GymnasiumProbe, factory) for factory in envs]
        self._envs: Any = make(probes, shared_memory=setup.exchange == "slots")
        self._index = range(setup.num_envs)

    def reset(self, **options: Any) -> port.Batch:
        return port.Batch(env_index=self._index, observation=self._envs.reset(**options)[0])

    def reset_where(self, mask: port.Bools) -> port.Batch:
        return self.reset(options={"reset_mask": mask})

    def step(self, actions: port.Floats) -> port.Batch:
        self.send(actions)
        return self.recv()

    def send(self, actions: port.Floats) -> None:
        self._envs.step_async(np.asarray(actions, dtype=np.float32).reshape(-1, 1))

    def recv(self, *, min_get: int = 0, timeout_s: float | None = None) -> port.Batch:  # noqa: ARG002 - it waits for all
        try:
            data = dict(zip(_STEP, self._envs.step_wait(timeout_s), strict=False))
        except multiprocessing.TimeoutError as error:
            raise TimeoutError(str(error)) from error  # the builtin one: the port's
        return port.Batch(env_index=self._index, **data)

    def seed(self, value: int) -> None:
        self._envs.reset(seed=value)

    def close(self) -> None:
        self._envs.close()

    def worker_pids(self) -> list[int]:
        return [process.pid for process in self._envs.processes if process.pid]


_STEP = ("observation", "reward", "terminated", "truncated")
_CAPABILITIES = port.PoolCapabilities(
    verbs=frozenset({"reset_where", "send", "recv", "seed"}),
    setup={"exchange": frozenset({"value", "slots"}), "start_method": port.START_METHODS},
    autoreset="next_step",
)
_PORT = port.PoolPort(capabilities=_CAPABILITIES, make=_Pool)
_version = functools.partial(getattr, gymnasium, "__version__")
backend = Backend(name="gymnasium", version=_version, packages=("gymnasium",), pool=_PORT)
