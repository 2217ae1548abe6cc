"""The envs that the benches of the pool step: as little work as an env can do, or a wait."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

HORIZON = 50


class Numbers(gymnasium.Env[Any, Any]):
    """Four floats, as gymnasium sees an env; waits `wait_s` in each step."""

    observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1e9, 1e9, (4,))
    action_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1, 1, (1,))

    def __init__(self, wait_s: float = 0.0) -> None:
        self._wait_s = wait_s
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002 - gymnasium's
        """Begin an episode."""
        self._steps = 0
        return np.zeros(4, np.float32), {}

    def adjust(self, level: float) -> None:
        """Take a parameter."""
        self.level = level

    def step(self, action: Any) -> Any:  # noqa: ARG002 - it does not matter
        """Count."""
        self._steps += 1
        if self._wait_s:
            time.sleep(self._wait_s)  # noqa: TID251 - the work of this env
        over = self._steps >= HORIZON
        return np.full(4, self._steps, np.float32), 1.0, over, False, {}


class Pictures(Numbers):
    """A stack of four pictures."""

    observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(0, 255, (84, 84, 4), np.uint8)

    def __init__(self) -> None:
        super().__init__()
        self._picture = np.zeros((84, 84, 4), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Begin an episode."""
        super().reset(seed=seed, options=options)
        return self._picture, {}

    def step(self, action: Any) -> Any:
        """Count."""
        _, *rest = super().step(action)
        return (self._picture, *rest)


class Native(EnvBase):
    """Four floats, as an `EnvBase`."""

    def __init__(self) -> None:
        super().__init__(batch_size=())
        self._steps = 0
        self.observation_spec = Composite(observation=Unbounded((4,)))
        self.action_spec = Bounded(-1.0, 1.0, (1,))
        self.reward_spec = Unbounded((1,))
        flags = ("done", "terminated", "truncated")
        self.done_spec = Composite({key: Categorical(2, (1,), dtype=torch.bool) for key in flags})

    def _shown(self) -> dict[str, torch.Tensor]:
        over = torch.tensor([self._steps >= HORIZON])
        return {
            "observation": torch.full((4,), float(self._steps)),
            "done": over,
            "terminated": over.clone(),
            "truncated": torch.zeros(1, dtype=torch.bool),
        }

    def _reset(self, tensordict: TensorDictBase | None = None) -> TensorDictBase:  # noqa: ARG002 - the base class calls it so
        self._steps = 0
        return TensorDict(self._shown(), batch_size=())

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._steps += 1
        return TensorDict({**self._shown(), "reward": tensordict["action"].clone()}, batch_size=())

    def _set_seed(self, seed: int | None) -> None:
        """Nothing is drawn."""
