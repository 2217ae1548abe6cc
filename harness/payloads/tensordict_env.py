"""The probe env as a torchrl `EnvBase`, for every backend that speaks TensorDict."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase

from harness.model import probe
from harness.ports.pool import EnvFactory


class TensorDictProbe(EnvBase):
    """Wraps a probe env: `observation` float32 [WIDTH], `action` float32 [1], `reward` float32 [1]."""

    def __init__(self, factory: EnvFactory) -> None:
        super().__init__(device="cpu", batch_size=[])
        self._env = factory()
        self.observation_spec = Composite(observation=Unbounded((probe.WIDTH,)))
        self.action_spec = Unbounded((1,))
        self.reward_spec = Unbounded((1,))
        self.done_spec = Composite(
            done=Binary(1, dtype=torch.bool),
            terminated=Binary(1, dtype=torch.bool),
            truncated=Binary(1, dtype=torch.bool),
        )

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        no = torch.zeros(1, dtype=torch.bool)
        return TensorDict(
            {
                "observation": torch.from_numpy(self._env.reset()),
                "done": no,
                "terminated": no.clone(),
                "truncated": no.clone(),
            },
            batch_size=[],
        )

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        action = tensordict.get("action")
        observation, reward, terminated, truncated = self._env.step(action.item())
        return TensorDict(
            {
                "observation": torch.from_numpy(observation),
                "reward": torch.tensor([reward], dtype=torch.float32),
                "done": torch.tensor([terminated or truncated]),
                "terminated": torch.tensor([terminated]),
                "truncated": torch.tensor([truncated]),
            },
            batch_size=[],
        )

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the probe env with this one."""
        super().close(raise_if_closed=raise_if_closed)
        self._env.close()

    def _set_seed(self, seed: int | None) -> None:
        if seed is not None:
            self._env.seed(int(seed))


def env_makers(factories: Sequence[EnvFactory]) -> list[Callable[[], TensorDictProbe]]:
    """Picklable makers of wrapped probe envs."""
    return [functools.partial(TensorDictProbe, factory) for factory in factories]
