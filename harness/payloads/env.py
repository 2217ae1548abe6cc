"""The probe env: its observations say which env it is, how often it was reset and which action led here."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from harness.model import probe
from harness.payloads import forms, spoiling
from harness.payloads.interposer import install
from harness.payloads.link import Link, SilentLink, Spoilt
from harness.ports.backend import Hook
from harness.ports.pool import Ends, Payload, ProbeEnv

DRAWS = 2**53  # exact in JSON, and too many for two draws to be equal by chance


class CountingEnv:
    """Counts its own episodes and steps, so that its observations can be predicted.

    It behaves as `harness.model.probe` says: env i lives for `horizon + i` steps, and its episodes end
    as `ends` says. Its observations are of the payload's form.
    """

    def __init__(  # noqa: PLR0913 - what an env is made of
        self,
        role: str,
        env_index: int,
        base_horizon: int,
        link: Link | SilentLink,
        payload: Payload = "plain",
        ends: Ends = "split",
        *,
        tells_keys: bool = False,
        level: int = 0,
    ) -> None:
        self._level = level
        self.env_index = env_index
        self.info: dict[str, Any] = {}
        self._tells_keys = tells_keys
        self._payload = payload
        self._ends = ends
        self._form = forms.form_of(payload, env_index)
        self._reused: Any = None
        self._role = role
        self._horizon = probe.horizon(base_horizon, env_index)
        self._link = link
        self._episode = 0
        self._step = 0
        self._generator = np.random.default_rng()  # its own, until it is seeded
        link.pass_gate(self._role, "construct")
        link.observe(self._role, "construct")

    def reset(self, seed: int | None = None) -> Any:
        """Start the next episode, seeded anew if there is a seed: an observation of the form."""
        if seed is not None:
            self.seed(seed)
        spoilt = self._link.pass_gate(self._role, "reset")
        self._episode += 1
        self._step = 0
        draw = int(self._generator.integers(DRAWS))
        self._link.observe(self._role, "reset", episode=self._episode, step=0, draw=draw)
        return self._observation(probe.NO_ACTION, spoilt)

    def step(self, action: float) -> tuple[Any, Any, bool, bool]:
        """Observation of the form, reward, terminated, truncated."""
        spoilt = self._link.pass_gate(self._role, "step")
        self._step += 1
        taken = round(float(action))
        self._link.observe(self._role, "step", episode=self._episode, step=self._step, action=taken)
        over = self._step >= self._horizon
        terminated, truncated = probe.ending(self._ends, self.env_index, self._episode)
        spoilt = self._link.pass_gate(self._role, "step", "after") or spoilt
        reward: Any = probe.reward(self.env_index, self._step, self._level)
        if self._payload == "reward_array":
            reward = np.array([reward], dtype=np.float32)
        return self._observation(taken, spoilt), reward, over and terminated, over and truncated

    @property
    def level(self) -> int:
        """The one parameter."""
        return self._level

    @level.setter
    def level(self, level: int) -> None:
        self.set_level(level)

    def set_level(self, level: int) -> None:
        """Have another level from the next step on; ValueError if it is negative."""
        if level < 0:
            raise ValueError(f"env {self.env_index} has no level below 0, got {level}")
        self._level = level
        self._link.observe(self._role, "level", level=level)

    def get_level(self) -> int:
        """The level."""
        return self._level

    def seed(self, value: int) -> None:
        """Seed the generator that it draws from at each reset."""
        self._generator = np.random.default_rng(value)
        self._link.observe(self._role, "seed", value=value)

    def given(self, keys: Sequence[str]) -> None:
        """Journal the keys of what it was given, if that is wanted."""
        if self._tells_keys:
            self._link.observe(self._role, "given", keys=sorted(keys))

    def close(self) -> None:
        """Be told that nothing more is wanted."""
        self._link.pass_gate(self._role, "close")
        self._link.observe(self._role, "close")

    def _observation(self, action: int, spoilt: Spoilt | None) -> Any:
        entries = probe.encode(
            env_index=self.env_index,
            incarnation=os.getpid(),
            episode=self._episode,
            step=self._step,
            action=action,
        )
        fresh = forms.write(self._form, entries)
        if self._payload == "reused":
            fresh = self._written_over(fresh)
        self.info = {}
        if spoilt is not None:
            struck = functools.partial(self._link.record_effect, self._role, spoilt)
            fresh, self.info = spoiling.spoil(fresh, spoilt.defect, spoilt.marker, struck)
        return fresh

    def _written_over(self, fresh: Any) -> Any:
        if self._reused is None:
            self._reused = fresh
        np.copyto(self._reused, fresh)
        return self._reused


class AroundProbe:
    """The part of an env of whatever form around one probe env that reads and sets the probe's level."""

    _env: ProbeEnv

    @property
    def level(self) -> int:
        """The probe's level."""
        return self._env.level

    @level.setter
    def level(self, level: int) -> None:
        self._env.level = level

    def set_level(self, level: int) -> None:
        """Set it."""
        self._env.set_level(level)

    def get_level(self) -> int:
        """Return it."""
        return self._env.get_level()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingEnvFactory:
    """Makes the probe env of one index, in whichever process it is called.

    Attributes:
        env_index: which env of its pool.
        base_horizon: the episode length of env 0.
        link: to the cell.
        pool: `worker` in the pool that is judged: with the index, as whom the env speaks.
    """

    env_index: int
    base_horizon: int
    link: Link | SilentLink
    payload: Payload = "plain"
    ends: Ends = "split"
    hooks: tuple[Hook, ...] = ()
    tells_keys: bool = False
    level: int = 0
    pool: str = "worker"

    def __call__(self) -> CountingEnv:
        """Build it; transfers of the process that it is in go through the interposer from now on."""
        if isinstance(self.link, Link):
            install(self.hooks, self.link)
        return CountingEnv(
            self._role,
            self.env_index,
            self.base_horizon,
            self.link,
            self.payload,
            self.ends,
            tells_keys=self.tells_keys,
            level=self.level,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle, which is an operation at which a fault may strike."""
        self.link.pass_gate(self._role, "pickle")
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return _factory, (given,)

    @property
    def _role(self) -> str:
        return f"{self.pool}:{self.env_index}"


def _factory(given: dict[str, Any]) -> CountingEnvFactory:
    return CountingEnvFactory(**given)
