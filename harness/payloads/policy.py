"""The probe models: every parameter and buffer carries the weights version, and a forward reads both ends."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, assert_never

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModuleBase
from torch import nn
from torchrl.data import Composite, Unbounded
from torchrl.envs import EnvBase

from harness.payloads.interposer import install
from harness.payloads.link import Link
from harness.ports.backend import Hook
from harness.ports.clock import now_ns
from harness.ports.weights import FIRST_VERSION, Defect, Model

VALUE_NUMEL = 1000  # of the value network


class VersionedPolicy(TensorDictModuleBase):
    """Reads its large parameter's first element, passes the gate, then reads the last one and the buffer.

    `observation` float32 [..., 1] names the worker. Writes `action` float32 [..., 1]; `first`, `last`,
    `buffer` float32 [..., 1], the versions that were read; and `began` int64 [..., 1], when, in ns. With
    `reads_all` the first and the last are the least and the most of the whole parameter, and no gate is
    passed.
    """

    in_keys = ("observation",)
    out_keys: tuple[str, ...] = ("action", "first", "last", "buffer", "began")

    def __init__(self, numel: int, link: Link, *, reads_all: bool = False) -> None:
        super().__init__()
        self._link = link
        self._reads_all = reads_all
        self._role = "worker"  # until an observation says which
        self.large = nn.Parameter(torch.empty(numel), requires_grad=False)
        self.small = nn.Parameter(torch.empty(3), requires_grad=False)
        self.register_buffer("stamp", torch.empty(2))

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """One forward: a torn one reads two versions."""
        observation = tensordict.get("observation")
        self._role = f"worker:{int(observation.reshape(-1)[0].item())}"
        began = now_ns()
        first, last, buffer = self._read_all() if self._reads_all else self._read_ends()
        like = torch.zeros_like(observation[..., :1])
        tensordict.set("action", like)
        for key, value in (("first", first), ("last", last), ("buffer", buffer)):
            tensordict.set(key, torch.full_like(like, value))
        tensordict.set("began", torch.full_like(like, began, dtype=torch.int64))
        return tensordict

    def _read_ends(self) -> tuple[float, float, float]:
        first = self.large[0].item()
        self._link.pass_gate(self._role, "forward")
        self._link.observe(self._role, "forward")
        last, buffer = self._other_end(first)
        self._link.pass_gate(self._role, "forward", "after")
        return first, last, buffer

    def _read_all(self) -> tuple[float, float, float]:
        least, most = (found.item() for found in self.large.aminmax())
        return least, most, self._other_end(least)[1]

    def _other_end(self, first: float) -> tuple[float, float]:
        """What was read last, with whichever of the small tensors disagrees with the first read."""
        last = self.large[-1].item()
        rest = (*self.small.tolist(), *self.stamp.tolist())
        return last, next((value for value in rest if value != first), rest[-1])


class PassingPolicy(VersionedPolicy):
    """Passes the gate before (`apply`), half-way through (`half_apply`) and after a `load_state_dict`.

    Who has one of its own is no plain module: a scheme may apply weights to others in another way.
    """

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Load, with a sequence point before and after it."""
        self._link.pass_gate(self._role, "apply")
        loaded = super().load_state_dict(state_dict, *args, **kwargs)
        self._link.pass_gate(self._role, "apply", "after")
        return loaded

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        large = state_dict.get(f"{prefix}large")
        if "half_apply" in self._link.gated and isinstance(large, torch.Tensor):
            if large.shape == self.large.shape:
                self.large.data.copy_(large)
            self._link.pass_gate(self._role, "half_apply")
        super()._load_from_state_dict(state_dict, prefix, *rest)


class ValuedPolicy(VersionedPolicy):
    """Has a value network, which is none of its own modules, and writes what that holds, too."""

    out_keys = (*VersionedPolicy.out_keys, "state_value")

    def __init__(self, numel: int, link: Link, *, reads_all: bool = False) -> None:
        super().__init__(numel, link, reads_all=reads_all)
        self.__dict__["value_network"] = ValueNetwork(VALUE_NUMEL)

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """One forward of each."""
        found: TensorDictBase = self.value_network(super().forward(tensordict))
        return found


class PassingValuedPolicy(ValuedPolicy, PassingPolicy):
    """Both."""


class ValueNetwork(TensorDictModuleBase):
    """Writes the version that it holds as `state_value` float32 [..., 1]; a mixture is -1."""

    in_keys = ("observation",)
    out_keys = ("state_value",)

    def __init__(self, numel: int) -> None:
        super().__init__()
        self.large = nn.Parameter(torch.empty(numel), requires_grad=False)
        self.small = nn.Parameter(torch.empty(3), requires_grad=False)

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Read all of it."""
        read = {*self.large.tolist(), *self.small.tolist()}
        version = read.pop() if len(read) == 1 else -1.0
        like = torch.zeros_like(tensordict.get("observation")[..., :1])
        return tensordict.set("state_value", torch.full_like(like, version))


POLICIES: Mapping[tuple[bool, bool], type[VersionedPolicy]] = {
    (False, False): VersionedPolicy,
    (True, False): PassingPolicy,
    (False, True): ValuedPolicy,
    (True, True): PassingValuedPolicy,
}
"""By whether they pass the gate while they load, and whether they have a value network."""


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
    """Makes the probe models and weights for them; pickles.

    Attributes:
        numel: elements of the policy's large parameter.
        link: the probe's line.
        reads_all: see `VersionedPolicy`.
        hooks: what items go through, which is struck in whichever process.
        valued: whether a policy has a value network.
        in_worker: it makes a worker's policy, and passes the gate for that.
        spoils: called, in the process that has set it, whenever somebody takes spoilt weights.
    """

    spoils: ClassVar[Callable[[Defect], None] | None] = None

    numel: int
    link: Link
    reads_all: bool = False
    hooks: tuple[Hook, ...] = ()
    valued: bool = False
    in_worker: bool = False

    def __call__(self) -> VersionedPolicy:
        """A policy filled with `FIRST_VERSION`."""
        if self.in_worker:
            install(self.hooks, self.link)
            self.link.pass_gate("worker", "construct")
        passes = bool({"apply", "half_apply"} & set(self.link.gated))
        made = POLICIES[passes, self.valued]
        policy = made(self.numel, self.link, reads_all=self.reads_all)
        self.fill(policy, FIRST_VERSION)
        if isinstance(policy, ValuedPolicy):
            self.fill(policy.value_network, FIRST_VERSION)
        return policy

    def for_workers(self) -> VersionedPolicyFactory:
        """The same, as each worker calls it."""
        return replace(self, in_worker=True)

    def value_network(self) -> ValueNetwork:
        """A value network filled with `FIRST_VERSION`."""
        network = ValueNetwork(VALUE_NUMEL)
        self.fill(network, FIRST_VERSION)
        return network

    def weights(
        self, version: int, defect: Defect | None, model: Model = "policy"
    ) -> dict[str, torch.Tensor]:
        """Fresh tensors by name, filled with `version`; spoilt if `defect` says how."""
        shapes: dict[str, tuple[int, ...]] = {"large": (self.numel,), "small": (3,), "stamp": (2,)}
        if model == "value":
            shapes = {"large": (VALUE_NUMEL,), "small": (3,)}
        match defect:
            case None | "wrong_dtype":
                pass
            case "wrong_shape":
                shapes["small"] = (4,)
            case "wrong_key":
                shapes["smell"] = shapes.pop("small")
            case "unknown_keys":
                shapes = {f"other_{name}": shape for name, shape in shapes.items()}
            case "extra_key":
                shapes["surplus"] = (1,)
            case _:
                assert_never(defect)
        if defect is not None and VersionedPolicyFactory.spoils is not None:
            VersionedPolicyFactory.spoils(defect)
        made = {name: torch.full(shape, float(version)) for name, shape in shapes.items()}
        if defect == "wrong_dtype":
            made["small"] = made["small"].to(torch.complex64)
        return made

    def fill(self, policy: nn.Module, version: int) -> None:
        """Fill the policy's parameters and buffers with `version`, in place."""
        with torch.no_grad():
            for tensor in (*policy.parameters(), *policy.buffers()):
                tensor.fill_(float(version))

    def env_makers(self, num_workers: int) -> list[Callable[[], Any]]:
        """Envs whose observations name the worker."""
        return [functools.partial(_env, self, worker) for worker in range(num_workers)]


def _env(factory: VersionedPolicyFactory, worker: int) -> WorkerEnv:
    install(factory.hooks, factory.link)
    return WorkerEnv(worker)
