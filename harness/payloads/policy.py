"""The probe policy: every parameter and buffer carries the weights version, and a forward reads both ends."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModuleBase
from torch import nn
from torchrl.data import Composite, Unbounded
from torchrl.envs import EnvBase

from harness.payloads.link import Link
from harness.ports.weights import FIRST_VERSION, Defect

PARAMETERS = ("large", "small")
BUFFERS = ("stamp",)


class VersionedPolicy(TensorDictModuleBase):
    """Reads its large parameter's first element, passes the gate, then reads the last one and the buffer.

    `observation` float32 [..., 1] names the worker. Writes `action` float32 [..., 1] and `first`,
    `last`, `buffer` float32 [..., 1]: the versions that were read.
    """

    in_keys = ("observation",)
    out_keys = ("action", "first", "last", "buffer")

    def __init__(self, numel: int, link: Link) -> None:
        super().__init__()
        self._link = link
        self.large = nn.Parameter(torch.empty(numel), requires_grad=False)
        self.small = nn.Parameter(torch.empty(3), requires_grad=False)
        self.register_buffer("stamp", torch.empty(2))

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """One forward: a torn one reads two versions."""
        observation = tensordict.get("observation")
        role = f"worker:{int(observation.reshape(-1)[0].item())}"
        first = self.large[0].item()
        self._link.pass_gate(role, "forward")
        self._link.observe(role, "forward")
        last, buffer = self._other_end(first)
        like = torch.zeros_like(observation[..., :1])
        tensordict.set("action", like)
        for key, value in (("first", first), ("last", last), ("buffer", buffer)):
            tensordict.set(key, torch.full_like(like, value))
        return tensordict

    def _other_end(self, first: float) -> tuple[float, float]:
        """What was read last, with whichever of the small tensors disagrees with the first read."""
        last = self.large[-1].item()
        rest = (*self.small.tolist(), *self.stamp.tolist())
        return last, next((value for value in rest if value != first), rest[-1])


class WorkerEnv(EnvBase):
    """An env whose observation, float32 [1], is the index of the worker that steps it."""

    def __init__(self, worker: int) -> None:
        super().__init__(device="cpu", batch_size=[])
        self._observation = torch.tensor([float(worker)])
        self.observation_spec = Composite(observation=Unbounded((1,)))
        self.action_spec = Unbounded((1,))
        self.reward_spec = Unbounded((1,))

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        return TensorDict({"observation": self._observation.clone()}, batch_size=[])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return TensorDict(
            {
                "observation": self._observation.clone(),
                "reward": torch.zeros(1),
                "done": torch.zeros(1, dtype=torch.bool),
            },
            batch_size=[],
        )

    def _set_seed(self, seed: int | None) -> None:
        """It draws nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedPolicyFactory:
    """Makes the probe policy and weights for it; pickles."""

    numel: int
    link: Link

    def __call__(self) -> VersionedPolicy:
        """A policy filled with `FIRST_VERSION`."""
        policy = VersionedPolicy(self.numel, self.link)
        self.fill(policy, FIRST_VERSION)
        return policy

    def weights(self, version: int, defect: Defect | None) -> dict[str, torch.Tensor]:
        """Fresh tensors by name, filled with `version`; spoilt if `defect` says how."""
        shapes = {"large": (self.numel,), "small": (3,), "stamp": (2,)}
        if defect == "wrong_shape":
            shapes["small"] = (4,)
        if defect == "wrong_key":
            shapes["smell"] = shapes.pop("small")
        if defect == "unknown_keys":
            shapes = {f"other_{name}": shape for name, shape in shapes.items()}
        return {name: torch.full(shape, float(version)) for name, shape in shapes.items()}

    def fill(self, policy: nn.Module, version: int) -> None:
        """Fill the policy's parameters and buffers with `version`, in place."""
        with torch.no_grad():
            for tensor in (*policy.parameters(), *policy.buffers()):
                tensor.fill_(float(version))

    def env_makers(self, num_workers: int) -> list[Callable[[], Any]]:
        """Envs whose observations name the worker."""
        return [functools.partial(WorkerEnv, worker) for worker in range(num_workers)]
