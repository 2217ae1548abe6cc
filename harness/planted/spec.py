"""The reference's pool with one bug each in what a call returns, or writes into what it was given.

They run in threads only: what is returned does not depend on where the envs are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.data import Unbounded

from harness.planted.variants import planted, talking
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.indices import ENV_INDEX, stacked_index
from reference_impl.pool.messages import Built, Operation
from reference_impl.pool.values import Values

_planted = partial(planted, transport=frozenset({"thread"}))


class _Counted(AsyncEnvPool):
    def _receive_steps(self, *args: Any, **kwargs: Any) -> TensorDictBase:
        """Receive steps, their rows numbered as they come."""
        stepped = super()._receive_steps(*args, **kwargs)
        count, *own_size = stepped.batch_size
        return stepped.set(ENV_INDEX, stacked_index(range(count), own_size))


def _extras(pool: AsyncEnvPool, tensordict: TensorDictBase) -> list[str]:
    """The first-level entries that no spec knows."""
    specs = (pool.full_observation_spec, pool.full_done_spec, pool.full_action_spec)
    known = {"next", ENV_INDEX, *(key for spec in specs for key in spec)}
    return sorted(set(tensordict.keys()) - known)


class _ExtrasRejected(AsyncEnvPool):
    def step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Step all envs, if the data holds what the specs know and nothing else."""
        extras = _extras(self, tensordict)
        if extras:
            raise KeyError(f"entries that no spec knows: {extras}")
        return super().step(tensordict)


class _ExtrasUnderNext(AsyncEnvPool):
    def step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Step all envs; what no spec knows is also the next root's."""
        stepped = super().step(tensordict)
        stepped.get("next").update(tensordict.select(*_extras(self, tensordict)))
        return stepped


class _RewardLost(AsyncEnvPool):
    def _receive_steps(self, *args: Any, **kwargs: Any) -> TensorDictBase:
        stepped = super()._receive_steps(*args, **kwargs)
        stepped.get("next").pop("reward")
        return stepped


class _NextWritten(AsyncEnvPool):
    def step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Step all envs, and leave the result in the caller's data as well."""
        stepped = super().step(tensordict)
        tensordict.set("next", stepped.get("next").copy())
        return stepped


class _IndexReused(AsyncEnvPool):
    def _numbered(self, td: TensorDictBase) -> TensorDictBase:
        if self._one_trip:
            return td
        made = self.__dict__.setdefault("_made", stacked_index(range(self.num_envs), ()))
        td.set(ENV_INDEX, made)
        return td


class _Telling(Conversation):
    """Hands the index of an env to the env itself."""

    def ask(
        self,
        operation: Operation,
        calls: Mapping[int, Values | None],
        kwargs: Mapping[int, dict[str, Any]] | None = None,
    ) -> dict[int, Any]:
        """Ask, with the index among the values."""
        told = {
            env: None if values is None else values.joined_by(ENV_INDEX, NonTensorData(env))
            for env, values in calls.items()
        }
        return super().ask(operation, told, kwargs)


class _WrongDtype(AsyncEnvPool):
    def _set_specs(self, built: Sequence[Built]) -> None:
        super()._set_specs(built)
        reward = self._output_spec["full_reward_spec"]
        shape = reward["reward"].shape
        reward["reward"] = Unbounded(shape, dtype=torch.float64)


class _PrivateResetIncomplete(AsyncEnvPool):
    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return super()._reset(tensordict, **kwargs).exclude("truncated")


rows_counted = _planted("rows_counted", _Counted)
extras_rejected = _planted("extras_rejected", _ExtrasRejected)
extras_under_next = _planted("extras_under_next", _ExtrasUnderNext)
reward_lost = _planted("reward_lost", _RewardLost)
next_written = _planted("next_written", _NextWritten)
index_reused = _planted("index_reused", _IndexReused)
index_sent = _planted("index_sent", talking(_Telling))
spec_of_wrong_dtype = _planted("spec_of_wrong_dtype", _WrongDtype)
private_reset_incomplete = _planted("private_reset_incomplete", _PrivateResetIncomplete)
