"""Pools with one bug each that a few calls do not show; what draws scenarios has to find them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.ports.backend import Backend
from harness.ports.pool import Batch, Bools, Floats, PoolCapabilities, PoolPort
from tests.backends.serial import SerialPool


class ShiftsRewards(SerialPool):
    """From the third reset on, each reward is the one of the step before."""

    resets = 0
    before: Floats | None = None

    def reset(self) -> Batch:
        self.resets += 1
        self.before = np.zeros(len(self.envs), dtype=np.float32)
        return super().reset()

    def step(self, actions: Floats) -> Batch:
        batch = super().step(actions)
        before, self.before = self.before, batch.reward
        return replace(batch, reward=before) if self.resets >= 3 else batch


class ResetsAll(SerialPool):
    """A partial reset of more than one env resets all of them."""

    def reset(self) -> Batch:
        batch = super().reset()
        self.last = batch.observation
        return batch

    def step(self, actions: Floats) -> Batch:
        batch = super().step(actions)
        self.last = batch.observation
        return batch

    def reset_where(self, mask: Bools) -> Batch:
        if mask.sum() > 1:
            return self.reset()
        self.last = self.last.copy()
        for i in np.flatnonzero(mask):
            self.last[i] = self.envs[i].reset()
        return Batch(env_index=range(len(self.envs)), observation=self.last)


def _backend(pool: type[SerialPool], name: str, *verbs: str) -> Backend:
    # Its envs live in the driver: what would kill a worker process has nothing to strike.
    capabilities = PoolCapabilities(
        verbs=frozenset(verbs), setup={"transport": frozenset({"thread"})}
    )
    return Backend(
        name=name, version=lambda: "1", pool=PoolPort(capabilities=capabilities, make=pool)
    )


shifts_rewards = _backend(ShiftsRewards, "shifts_rewards")
resets_all = _backend(ResetsAll, "resets_all", "reset_where")
