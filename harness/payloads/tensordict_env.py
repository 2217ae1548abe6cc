"""The probe env as a torchrl `EnvBase`, for every backend that speaks TensorDict.

A child of the pool holds one probe env, or as many as `forms.LANES` says: side by side in a batch of its own,
or as groups, each with keys of its own for everything, its resets included.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from tensordict import NonTensorData, TensorDict, TensorDictBase
from torchrl.data import Binary, Bounded, Composite, Unbounded
from torchrl.envs import Compose, EnvBase, ObservationNorm, StepCounter, TransformedEnv

from harness.payloads import forms
from harness.payloads.env import AroundProbe
from harness.ports.pool import EnvFactory, ProbeEnv

GROUPS = ("left", "right")
# What a backend of torchrl's vocabulary may declare.
PAYLOADS: frozenset[str] = frozenset(
    {
        *("plain", "scalar", "image", "huge", "nested", "special", "reused"),
        *("reward_array", "differing", "batched", "grouped"),
    }
)
ENDS: frozenset[str] = frozenset({"split", "truncated", "both", "by_turns"})
_DONES = ("done", "terminated", "truncated")


class TensorDictProbe(AroundProbe, EnvBase):
    """Wraps a probe env: `observation` in its form, `action` float32 [1], `reward` float32 [1]."""

    def __init__(self, factory: EnvFactory) -> None:
        super().__init__(device="cpu", batch_size=[])
        self._env = factory()
        form = forms.form_of(factory.payload, factory.env_index)
        self.observation_spec = Composite(observation=_spec(form))
        self.action_spec = Unbounded((1,))
        self.reward_spec = Unbounded((1,))
        self.done_spec = _done_spec()

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        self._tell(tensordict)
        return TensorDict(_first(self._env), batch_size=[])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._tell(tensordict)
        return TensorDict(_next(self._env, tensordict.get("action")), batch_size=[])

    def _tell(self, tensordict: TensorDictBase | None) -> None:
        """Tell the probe env the first-level keys of what this one was given."""
        self._env.given([] if tensordict is None else [str(key) for key in tensordict.keys()])  # noqa: SIM118 - a TensorDict is no dict

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the probe env with this one."""
        super().close(raise_if_closed=raise_if_closed)
        self._env.close()

    def _set_seed(self, seed: int | None) -> None:
        if seed is not None:
            self._env.seed(int(seed))


class LevelShowing(TensorDictProbe):
    """Shows, too, its level and how far the episode has got: `level` float32 [1]."""

    def __init__(self, factory: EnvFactory) -> None:
        super().__init__(factory)
        self._steps = 0
        self.observation_spec["level"] = Unbounded((1,))
        # Whoever makes statistics acts at random: what no request is, so that it is not taken for one.
        self.action_spec = Bounded(-9.0, -2.0, (1,))

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        self._steps = 0
        return self._with_level(super()._reset(tensordict, **kwargs))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._steps += 1
        return self._with_level(super()._step(tensordict))

    def _with_level(self, td: TensorDictBase) -> TensorDictBase:
        return td.set("level", torch.tensor([self.level + self._steps / 4]))


def normalised(factory: EnvFactory) -> EnvBase:
    """A probe env in a transform that has made statistics of its level: `normal` float32 [1]."""
    norm = ObservationNorm(in_keys=["level"], out_keys=["normal"], standard_normal=True)
    env = TransformedEnv(LevelShowing(factory), Compose(StepCounter(), norm))
    norm.init_stats(STATISTICS_FRAMES)
    return env


STATISTICS_FRAMES = 12


class _Several(EnvBase):
    """Several probe envs in one child; whoever is not to be reset shows again what it last showed."""

    def __init__(self, factories: Sequence[EnvFactory], batch_size: Sequence[int]) -> None:
        super().__init__(device="cpu", batch_size=batch_size)
        self._envs = [factory() for factory in factories]
        self._shown: list[dict[str, Any]] = [{} for _ in self._envs]

    def _restarted(self, masks: Iterable[Any]) -> list[dict[str, Any]]:
        for lane, (env, mask) in enumerate(zip(self._envs, masks, strict=True)):
            if mask:
                self._shown[lane] = _first(env)
        return [dict(shown) for shown in self._shown]

    def _moved(self, actions: Iterable[torch.Tensor]) -> list[dict[str, Any]]:
        stepped = [_next(env, each) for env, each in zip(self._envs, actions, strict=True)]
        self._shown = [
            {key: value for key, value in each.items() if key != "reward"} for each in stepped
        ]
        return stepped

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the probe envs with this one."""
        super().close(raise_if_closed=raise_if_closed)
        for env in self._envs:
            env.close()

    def _set_seed(self, seed: int | None) -> None:
        for lane, env in enumerate(self._envs if seed is not None else ()):
            env.seed(int(seed or 0) + lane)


class BatchedProbe(_Several):
    """Probe envs side by side: batch size [lanes], the keys of `TensorDictProbe`."""

    def __init__(self, factories: Sequence[EnvFactory]) -> None:
        lanes = len(factories)
        super().__init__(factories, [lanes])
        form = forms.form_of(factories[0].payload, factories[0].env_index)
        self.observation_spec = Composite(observation=_spec(form), shape=[]).expand(lanes)
        self.action_spec = Unbounded((lanes, 1))
        self.reward_spec = Unbounded((lanes, 1))
        self.done_spec = _done_spec().expand(lanes)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        lanes = [True] * len(self._envs) if mask is None else mask.reshape(-1).tolist()
        return self._side_by_side(self._restarted(lanes))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return self._side_by_side(self._moved(tensordict.get("action")))

    def _side_by_side(self, lanes: Sequence[dict[str, Any]]) -> TensorDictBase:
        dicts = [TensorDict(lane, batch_size=[]) for lane in lanes]
        return torch.stack(dicts)


class GroupedProbe(_Several):
    """Probe envs as groups: the keys of `TensorDictProbe` below `left` and `right`, and none at the root."""

    def __init__(self, factories: Sequence[EnvFactory]) -> None:
        super().__init__(factories, [])
        form = forms.form_of(factories[0].payload, factories[0].env_index)
        self.observation_spec = _grouped(lambda: Composite(observation=_spec(form)))
        self.action_spec = _grouped(lambda: Composite(action=Unbounded((1,))))
        self.reward_spec = _grouped(lambda: Composite(reward=Unbounded((1,))))
        self.done_spec = _grouped(_done_spec)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        given: Any = {} if tensordict is None else tensordict
        masks = [given.get((group, "_reset"), None) for group in GROUPS]
        named = any(mask is not None for mask in masks)
        return self._below(self._restarted([mask if named else True for mask in masks]))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return self._below(self._moved(tensordict.get((group, "action")) for group in GROUPS))

    def _below(self, groups: Sequence[dict[str, Any]]) -> TensorDictBase:
        return TensorDict(dict(zip(GROUPS, groups, strict=True)), batch_size=[])


def env_makers(factories: Sequence[EnvFactory], child: str = "bare") -> list[Callable[[], EnvBase]]:
    """Picklable makers of the pool's children: as many as factories, or fewer that hold several each.

    Raises:
        ValueError: a child would not be full.
    """
    payload = factories[0].payload
    lanes = forms.LANES.get(payload, 1)
    if len(factories) % lanes:
        raise ValueError(f"{len(factories)} envs make no full children of {lanes}: {payload}")
    if child == "normalised":
        return [functools.partial(normalised, factory) for factory in factories]
    if lanes == 1:
        return [functools.partial(TensorDictProbe, factory) for factory in factories]
    several = BatchedProbe if payload == "batched" else GroupedProbe
    starts = range(0, len(factories), lanes)
    return [functools.partial(several, factories[at : at + lanes]) for at in starts]


def _first(env: ProbeEnv) -> dict[str, Any]:
    observation = _tensors(env.reset())
    return {"observation": observation, **_flags(terminated=False, truncated=False), **_said(env)}


def _next(env: ProbeEnv, action: torch.Tensor) -> dict[str, Any]:
    observation, reward, terminated, truncated = env.step(action.item())
    return {
        "observation": _tensors(observation),
        "reward": torch.tensor(reward, dtype=torch.float32).reshape(1),
        **_flags(terminated=terminated, truncated=truncated),
        **_said(env),
    }


def _flags(*, terminated: bool, truncated: bool) -> dict[str, torch.Tensor]:
    said = (terminated or truncated, terminated, truncated)
    return {key: torch.tensor([value]) for key, value in zip(_DONES, said, strict=True)}


def _said(env: ProbeEnv) -> dict[str, Any]:
    return {key: NonTensorData(value) for key, value in env.info.items()}


def _tensors(tree: Any) -> Any:
    """Tensors that share the memory of what the probe env returned."""
    if isinstance(tree, Mapping):
        return TensorDict({key: _tensors(each) for key, each in tree.items()}, batch_size=[])
    return torch.from_numpy(tree)


def _spec(form: forms.Form) -> Any:
    if isinstance(form, Mapping):
        return Composite({key: _spec(each) for key, each in form.items()})
    dtype = torch.from_numpy(np.empty(0, form.dtype)).dtype
    return Unbounded(form.shape, dtype=dtype)


def _done_spec() -> Composite:
    return Composite({key: Binary(1, dtype=torch.bool) for key in _DONES})


def _grouped(make: Callable[[], Composite]) -> Composite:
    return Composite({group: make() for group in GROUPS})
