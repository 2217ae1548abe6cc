"""What the adapters of stable-baselines3's two vectorised envs share.

Waiting for a step takes no timeout, and a reset is one of all envs: `recv` and `reset_where` are not declared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import gymnasium
import numpy as np

from harness.adapters._gymnasium_env import ENDS, FLAT, GymnasiumProbe
from harness.ports import pool as port
from harness.ports.backend import Backend
from harness.ports.param_verbs import SetParams
from harness.ports.pool import Batch, Floats


class _Pool:
    """Ends of episodes are told by `dones` and two entries of an env's info."""

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        self._index = range(envs.num_envs)

    def reset(self) -> Batch:
        return Batch(env_index=self._index, observation=self._envs.reset())

    def step(self, actions: Floats) -> Batch:
        self.send(actions)
        observation, reward, done, infos = self._envs.step_wait()
        truncated = np.array([bool(info.get("TimeLimit.truncated")) for info in infos])
        final = [
            info.get("terminal_observation", row)
            for info, row in zip(infos, observation, strict=True)
        ]
        return Batch(
            env_index=self._index,
            observation=observation,
            reward=reward,
            terminated=done & ~truncated,
            truncated=done & truncated,
            final_observation=final,
            handed=(observation, reward, done, *final),
        )

    def send(self, actions: Floats) -> None:
        self._envs.step_async(np.asarray(actions, dtype=np.float32).reshape(-1, 1))

    def set_params(self, levels: Mapping[int, int], verb: SetParams) -> None:
        for env, level in levels.items():
            if verb.via == "attribute":
                self._envs.set_attr("level", level, indices=env)
            else:
                self._envs.env_method("set_level", level, indices=env)

    def read_params(self, via: str) -> Sequence[int]:
        if via == "attribute":
            return [int(level) for level in self._envs.get_attr("level")]
        return [int(level) for level in self._envs.env_method("get_level")]

    def seed(self, value: int) -> None:
        self._envs.seed(value)

    def close(self) -> None:
        self._envs.close()

    def transfer_ends(self, _channel: port.Channel, _end: port.End) -> list[int]:
        return [remote.fileno() for remote in self._envs.remotes]

    def worker_pids(self) -> list[int]:
        return [process.pid for process in getattr(self._envs, "processes", ())]


def backend_of(
    name: str,
    capabilities: port.PoolCapabilities,
    make: Callable[[list[Callable[[], gymnasium.Env[Any, Floats]]], port.PoolSetup], Any],
) -> Backend:
    """The backend of one of the two, which `make` builds from functions that make its envs."""
    payloads = {
        "payload": FLAT,
        # Who sees `terminated and truncated` is told of a termination: that is how it is documented.
        "ends": ENDS - {"both"},
    }
    capabilities = replace(capabilities, setup={**payloads, **capabilities.setup})

    def build(setup: port.PoolSetup, factories: Sequence[port.EnvFactory], _: float) -> _Pool:
        return _Pool(
            make([functools.partial(GymnasiumProbe, factory) for factory in factories], setup)
        )

    return Backend(
        name=name,
        version=functools.partial(version, "stable-baselines3"),
        packages=("stable-baselines3", "gymnasium", "torch"),
        pool=port.PoolPort(capabilities=capabilities, make=build),
    )
