"""Gymnasium envs as `EnvBase`s."""

from __future__ import annotations

import sys
from typing import Final

from torchrl.envs import GymWrapper, gym_backend

_OTHERS: Final = ("stable_baselines3", "isaaclab")  # libraries that have envs which are many in one
_OURS: Final = ("gymnasium.vector", "gym.vector")


def looks_like_gymnasium(env: object) -> bool:
    """Return whether `env` has what a gymnasium env has."""
    names = ("reset", "step", "action_space", "observation_space", "unwrapped")
    return all(hasattr(env, name) for name in names)


class GymnasiumEnv(GymWrapper):
    """torchrl's wrapper, which imports no library to find that the env is none of its.

    To import one that is installed, and otherwise not in use, would be most of a worker's start.
    """

    def _post_init(self) -> None:
        if gym_backend() is not sys.modules.get(self.get_library_name(self._env)):
            super()._post_init()
            return
        # What that does, without having all that depends on a backend found out once more.
        for name in ("_reset_output_transform", "_output_transform"):
            setattr(self, name, getattr(self, name))

    @property
    def _is_batched(self) -> bool:
        if any(name in sys.modules for name in _OTHERS):
            return bool(super()._is_batched)
        vectors = (sys.modules[name].VectorEnv for name in _OURS if name in sys.modules)
        return isinstance(self._env.unwrapped, tuple(vectors))
