"""The probe env: its observations say which env it is, how often it was reset and which action led here."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from harness.model import probe
from harness.payloads.link import Link
from harness.ports.pool import Floats

DRAWS = 2**53  # exact in JSON, and too many for two draws to be equal by chance


class CountingEnv:
    """Counts its own episodes and steps, so that its observations can be predicted.

    It behaves as `harness.model.probe` says: env i lives for `horizon + i` steps, even envs
    terminate, odd ones are truncated.
    """

    def __init__(self, env_index: int, base_horizon: int, link: Link) -> None:
        self.env_index = env_index
        self._role = f"worker:{env_index}"
        self._horizon = probe.horizon(base_horizon, env_index)
        self._link = link
        self._episode = 0
        self._step = 0
        self._generator = np.random.default_rng()  # its own, until it is seeded
        link.pass_gate(self._role, "construct")
        link.observe(self._role, "construct")

    def reset(self, seed: int | None = None) -> Floats:
        """Start the next episode, seeded anew if there is a seed: float32 [WIDTH]."""
        if seed is not None:
            self.seed(seed)
        self._link.pass_gate(self._role, "reset")
        self._episode += 1
        self._step = 0
        draw = int(self._generator.integers(DRAWS))
        self._link.observe(self._role, "reset", episode=self._episode, step=0, draw=draw)
        return self._observation(probe.NO_ACTION)

    def step(self, action: float) -> tuple[Floats, float, bool, bool]:
        """Observation float32 [WIDTH], reward, terminated, truncated."""
        self._link.pass_gate(self._role, "step")
        self._step += 1
        taken = round(float(action))
        self._link.observe(self._role, "step", episode=self._episode, step=self._step, action=taken)
        over = self._step >= self._horizon
        terminates = probe.terminates(self.env_index)
        self._link.pass_gate(self._role, "step", "after")
        return (
            self._observation(taken),
            probe.reward(self.env_index, self._step),
            over and terminates,
            over and not terminates,
        )

    def seed(self, value: int) -> None:
        """Seed the generator that it draws from at each reset."""
        self._generator = np.random.default_rng(value)
        self._link.observe(self._role, "seed", value=value)

    def close(self) -> None:
        """Be told that nothing more is wanted."""
        self._link.pass_gate(self._role, "close")
        self._link.observe(self._role, "close")

    def _observation(self, action: int) -> Floats:
        entries = probe.encode(
            env_index=self.env_index,
            incarnation=os.getpid(),
            episode=self._episode,
            step=self._step,
            action=action,
        )
        return np.array(entries, dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingEnvFactory:
    """Makes the probe env of one index, in whichever process it is called."""

    env_index: int
    base_horizon: int
    link: Link

    def __call__(self) -> CountingEnv:
        """Build it."""
        return CountingEnv(self.env_index, self.base_horizon, self.link)
