"""A pool that steps its envs one after the other, in the driver: the least that the port asks for.

It needs no torch, so that tests of the engine are quick, and it is what hostile variants break.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.ports.backend import Backend
from harness.ports.pool import (
    Batch,
    EnvFactory,
    Floats,
    Pool,
    PoolCapabilities,
    PoolPort,
    PoolSetup,
)


class SerialPool:
    """Steps every env in turn; an env that is done is reset within the step."""

    def __init__(self, setup: PoolSetup, factories: Sequence[EnvFactory], _: float) -> None:
        self.setup = setup
        self.envs = [factory() for factory in factories]

    def reset(self) -> Batch:
        return Batch(
            env_index=range(len(self.envs)),
            observation=np.stack([env.reset() for env in self.envs]),
        )

    def step(self, actions: Floats) -> Batch:
        rows = [env.step(action) for env, action in zip(self.envs, actions, strict=True)]
        stepped = batch_of(rows)
        observation = np.array(stepped.observation)
        for i, (_, _, terminated, truncated) in enumerate(rows):
            if terminated or truncated:
                observation[i] = self.envs[i].reset()
        final = stepped.observation
        return replace(stepped, observation=observation, action=actions, final_observation=final)

    def close(self) -> None:
        for env in self.envs:
            env.close()
        self.envs = []

    def worker_pids(self) -> list[int]:
        return []


def batch_of(rows: Sequence[Any]) -> Batch:
    """What all envs answered: of each its observation, reward, terminated, truncated."""
    return Batch(
        env_index=range(len(rows)),
        observation=np.stack([row[0] for row in rows]),
        reward=np.array([row[1] for row in rows], dtype=np.float32),
        terminated=np.array([row[2] for row in rows]),
        truncated=np.array([row[3] for row in rows]),
    )


def backend_over(pool: type[Pool], name: str, transport: str = "thread") -> Backend:
    """A backend whose pool is built by a class."""
    capabilities = PoolCapabilities(setup={"transport": frozenset({transport})})
    port = PoolPort(capabilities=capabilities, make=pool)
    return Backend(name=name, version=lambda: "1", pool=port)


backend = backend_over(SerialPool, "serial")
