"""The gymnasium backend: `AsyncVectorEnv` in its default autoreset mode."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import gymnasium
import numpy as np

from harness.model import probe
from harness.ports import pool as port
from harness.ports.backend import Backend
from harness.ports.pool import Batch, Bools, Floats


class _GymnasiumProbe(gymnasium.Env[Floats, Floats]):
    def __init__(self, factory: port.EnvFactory) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (probe.WIDTH,))
        self.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
        self._env = factory()

    def reset(self, **_: Any) -> tuple[Floats, dict[str, Any]]:
        return self._env.reset(), {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        return *self._env.step(float(action[0])), {}


class _Pool:
    def __init__(self, setup: port.PoolSetup, envs: Sequence[port.EnvFactory], _: float) -> None:
        self._envs = gymnasium.vector.AsyncVectorEnv(
            [functools.partial(_GymnasiumProbe, factory) for factory in envs],
            shared_memory=setup.exchange == "slots",
            context=setup.start_method,
        )
        self._index = range(setup.num_envs)

    def reset(self) -> Batch:
        return Batch(env_index=self._index, observation=self._envs.reset()[0])

    def reset_where(self, mask: Bools) -> Batch:
        observation, _ = self._envs.reset(options={"reset_mask": mask})
        return Batch(env_index=self._index, observation=observation)

    def step(self, actions: Floats) -> Batch:
        self.send(actions)
        return self.recv()

    def send(self, actions: Floats) -> None:
        self._envs.step_async(np.asarray(actions, dtype=np.float32).reshape(-1, 1))

    def recv(self, *, min_get: int = 0, timeout_s: float | None = None) -> Batch:  # noqa: ARG002 - it waits for all
        try:
            data = dict(zip(_STEP, self._envs.step_wait(timeout_s), strict=False))
        except multiprocessing.TimeoutError as error:
            raise TimeoutError(str(error)) from error  # the builtin one: the port's
        return Batch(env_index=self._index, **data)

    def close(self) -> None:
        self._envs.close()

    def worker_pids(self) -> list[int]:
        return [process.pid for process in self._envs.processes if process.pid]


_STEP = ("observation", "reward", "terminated", "truncated")
_START = frozenset({"fork", "spawn", "forkserver"})
_CAPABILITIES = port.PoolCapabilities(
    verbs=frozenset({"reset_where", "send", "recv"}),
    setup={"exchange": frozenset({"value", "slots"}), "start_method": _START},
    autoreset="next_step",
)
_PORT = port.PoolPort(capabilities=_CAPABILITIES, make=_Pool)
_version = functools.partial(version, "gymnasium")
backend = Backend(name="gymnasium", version=_version, packages=("gymnasium",), pool=_PORT)
