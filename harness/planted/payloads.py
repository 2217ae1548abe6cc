"""The reference's pool with one bug each that only some form of observation, or some way to end, shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from tensordict import TensorDictBase

from harness.planted.variants import mask_of, planted, replacing, talking
from reference_impl.core.errors import WorkerError
from reference_impl.pool import AsyncEnvPool, worker
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Operation
from reference_impl.pool.values import Values


class _TerminatedAlone(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        truncated = stepped.get("truncated", None)  # groups have their own
        if truncated is None:
            return stepped
        return stepped.set("truncated", truncated & ~stepped.get("terminated"))


class _EndingLearnt(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        if stepped.get("done", None) is None:  # groups have their own
            return stepped
        learnt: dict[int, bool] = self.__dict__.setdefault("_learnt", {})
        terminated, truncated = (stepped.get(f"{how}ated").view(-1) for how in ("termin", "trunc"))
        for env in torch.nonzero(terminated ^ truncated).reshape(-1).tolist():
            terminates = learnt.setdefault(env, bool(terminated[env]))
            terminated[env], truncated[env] = terminates, not terminates
        return stepped


class _Restacked(AsyncEnvPool):
    """Does something to every observation, on its way from the workers to the batch."""

    def _stack(self, by_env: Mapping[int, Values]) -> TensorDictBase:
        changed = {
            env: values.joined_by("observation", self._changed(env, values.entries["observation"]))
            if "observation" in values.entries
            else values
            for env, values in by_env.items()
        }
        return super()._stack(changed)

    def _changed(self, env: int, observation: Any) -> Any:
        raise NotImplementedError


class _InnerKeyForgotten(_Restacked):
    def _changed(self, env: int, observation: Any) -> Any:
        del env
        if not isinstance(observation, Values) or "inner" not in observation.entries:
            return observation
        inner: Values = observation.entries["inner"]
        picture = inner.entries["picture"]
        return observation.joined_by("inner", inner.joined_by("picture", torch.zeros_like(picture)))


class _CopiedInHalves(_Restacked):
    def _changed(self, env: int, observation: Any) -> Any:
        if not isinstance(observation, torch.Tensor) or observation.dtype is not torch.uint8:
            return observation
        before: dict[int, torch.Tensor] = self.__dict__.setdefault("_before", {})
        torn, old = observation.clone(), before.get(env, observation)
        half = len(torn) // 2
        torn[half:] = old[half:]
        before[env] = observation
        return torn


class _ThroughFloats(_Restacked):
    def _changed(self, env: int, observation: Any) -> Any:
        del env
        is_number = isinstance(observation, torch.Tensor) and observation.dtype is torch.int64
        return observation.to(torch.float32).to(torch.int64) if is_number else observation


class _MadeFinite(_Restacked):
    def _changed(self, env: int, observation: Any) -> Any:
        del env
        is_vector = isinstance(observation, torch.Tensor) and observation.is_floating_point()
        return torch.nan_to_num(observation) if is_vector else observation


class _Padded(AsyncEnvPool):
    def _stack(self, by_env: Mapping[int, Values]) -> TensorDictBase:
        found: dict[int, Any] = {
            env: values.entries.get("observation") for env, values in by_env.items()
        }
        vectors = {env: one for env, one in found.items() if _is_vector(one)}
        longest = max(map(len, vectors.values()), default=0)
        padded = dict(by_env)
        for env, vector in vectors.items():
            longer = torch.nn.functional.pad(vector, (0, longest - len(vector)))
            padded[env] = by_env[env].joined_by("observation", longer)
        return super()._stack(padded)


def _is_vector(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dim() == 1


class _LastReplyKept(_Restacked):
    def _changed(self, env: int, observation: Any) -> Any:
        kept: dict[int, Any] = self.__dict__.setdefault("_kept", {})
        if env not in kept or list(_form(kept[env])) == list(_form(observation)):
            kept[env] = observation
        return kept[env]


def _form(leaf: Any, key: str = "") -> Iterator[tuple[str, torch.dtype, torch.Size]]:
    if isinstance(leaf, torch.Tensor):
        yield key, leaf.dtype, leaf.shape
    elif isinstance(leaf, Values):
        for name, inner in leaf.entries.items():
            yield from _form(inner, f"{key}/{name}")


class _FirstMaskAlone(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset by the first mask key; the others say nothing."""
        first, *others = self.reset_keys
        asked = not self._one_trip  # else it is part of a step
        if asked and tensordict is not None and tensordict.get(first, None) is not None:
            tensordict = tensordict.copy()
            for key in others:
                mask = tensordict.get(key, None)
                if mask is not None:
                    tensordict.set(key, torch.zeros_like(mask))
        return super().reset(tensordict, **kwargs)


class _WholeChildReset(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset all envs of each child of which one is masked."""
        mask = mask_of(tensordict)
        asked = not self._one_trip  # else it is part of a step
        if asked and tensordict is not None and mask is not None:
            child = mask.flatten(1).any(1).reshape(-1, *[1] * (mask.dim() - 1))
            tensordict = tensordict.copy().set("_reset", child.expand(mask.shape).clone())
        return super().reset(tensordict, **kwargs)


class _SilentAboutPickling(Conversation):
    _last: dict[int, Any]

    def ask(
        self,
        operation: Operation,
        calls: Mapping[int, Values | None],
        kwargs: Mapping[int, dict[str, Any]] | None = None,
    ) -> dict[int, Any]:
        """Ask one worker after the other; whose reply cannot be pickled answers as the last time."""
        last: dict[int, Any] = self.__dict__.setdefault("_last", {})
        for env, values in calls.items():
            given = {env: kwargs[env]} if kwargs else None
            try:
                last |= super().ask(operation, {env: values}, given)
            except WorkerError as error:
                if "Unpicklable" not in str(error):
                    raise
        return {env: last[env] for env in calls}


arrays_handed_out = planted("arrays_handed_out", replacing(worker, "copied", lambda values: values))
terminated_alone = planted("terminated_alone", _TerminatedAlone)
ending_learnt_once = planted("ending_learnt_once", _EndingLearnt)
inner_key_forgotten = planted("inner_key_forgotten", _InnerKeyForgotten)
copied_in_halves = planted("copied_in_halves", _CopiedInHalves)
integers_through_floats = planted("integers_through_floats", _ThroughFloats)
made_finite = planted("made_finite", _MadeFinite)
padded_to_the_longest = planted("padded_to_the_longest", _Padded)
last_reply_kept = planted("last_reply_kept", _LastReplyKept)
first_mask_alone = planted("first_mask_alone", _FirstMaskAlone)
whole_child_reset = planted("whole_child_reset", _WholeChildReset)
unpicklable_answered_for = planted("unpicklable_answered_for", talking(_SilentAboutPickling))
