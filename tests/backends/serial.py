"""A pool that steps its envs one after the other, in the driver: the least that the port asks for.

It needs no torch, so that tests of the engine are quick, and it is what hostile variants break.
"""

from __future__ import annotations

from collections.abc import Sequence

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
        final = np.stack([row[0] for row in rows])
        observation = final.copy()
        for i, (_, _, terminated, truncated) in enumerate(rows):
            if terminated or truncated:
                observation[i] = self.envs[i].reset()
        return Batch(
            env_index=range(len(self.envs)),
            observation=observation,
            action=actions,
            reward=np.array([row[1] for row in rows], dtype=np.float32),
            terminated=np.array([row[2] for row in rows]),
            truncated=np.array([row[3] for row in rows]),
            final_observation=final,
        )

    def close(self) -> None:
        for env in self.envs:
            env.close()
        self.envs = []

    def worker_pids(self) -> list[int]:
        return []


def backend_over(pool: type[Pool], name: str) -> Backend:
    """A backend whose pool is built by a class."""
    capabilities = PoolCapabilities(setup={"transport": frozenset({"thread"})})
    port = PoolPort(capabilities=capabilities, make=pool)
    return Backend(name=name, version=lambda: "1", pool=port)


backend = backend_over(SerialPool, "serial")
