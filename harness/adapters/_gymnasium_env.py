"""The probe env as a `gymnasium.Env`, and what vectorised envs make of its observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from harness.payloads import forms
from harness.payloads.env import AroundProbe
from harness.ports.param_verbs import SetParams
from harness.ports.pool import EnvFactory, Floats

# What is one array an env, of the same shape in all. Where a reward of shape [1] is written into an array of
# numbers, numpy refuses it with an error, which is an answer: only who takes it declares `reward_array`.
FLAT: frozenset[str] = frozenset({"plain", "scalar", "image", "huge", "special", "reused"})
ENDS: frozenset[str] = frozenset({"split", "truncated", "both", "by_turns"})


class GymnasiumProbe(AroundProbe, gymnasium.Env[Any, Floats]):
    """Wraps a probe env."""

    def __init__(self, factory: EnvFactory) -> None:
        self.observation_space = _space(forms.form_of(factory.payload, factory.env_index))
        self.action_space = spaces.Box(-np.inf, np.inf, (1,))
        self._env = factory()

    def reset(self, *, seed: int | None = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        """The first observation of the next episode, and an info."""
        observation = self._env.reset(seed)
        return observation, self._env.info

    def step(self, action: Floats) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated, truncated, info."""
        stepped = self._env.step(float(action[0]))
        return *stepped, self._env.info

    def close(self) -> None:
        """Close the probe env."""
        self._env.close()


class ByAttribute:
    """The part of a pool that reads and sets an attribute of its envs: all at once, by gymnasium's way."""

    _envs: Any

    def set_params(self, levels: Mapping[int, int], _verb: SetParams) -> None:
        """Set those that are named, and the others to what they have."""
        now = [levels.get(env, level) for env, level in enumerate(self.read_params("attribute"))]
        self._envs.set_attr("level", now)

    def read_params(self, _via: str) -> Sequence[int]:
        """Of each env."""
        return [int(level) for level in self._envs.get_attr("level")]


def rows(batch: Any, count: int) -> Any:
    """The observations of a batch by env: arrays have a row each, dictionaries one below each of their keys."""
    if not isinstance(batch, Mapping):
        return batch
    columns = {key: rows(column, count) for key, column in batch.items()}
    return [{key: column[i] for key, column in columns.items()} for i in range(count)]


def arrays(*batches: Any) -> Iterator[Any]:
    """All arrays of these batches, as they were handed out."""
    for batch in batches:
        yield from (array for _, array in forms.leaves(batch))


def _space(form: forms.Form) -> spaces.Space[Any]:
    if isinstance(form, Mapping):
        return spaces.Dict({key: _space(each) for key, each in form.items()})
    dtype: Any = np.dtype(form.dtype)
    if dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, form.shape, dtype)
    limits = np.iinfo(dtype)
    return spaces.Box(limits.min, limits.max, form.shape, dtype)
