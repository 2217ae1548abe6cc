"""The reference's pool with one bug each in what it asks of its envs, or in how it hands answers out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from tensordict import TensorDictBase

from harness.planted.variants import mask_of, planted
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Operation
from reference_impl.pool.state import Delivery
from reference_impl.pool.values import Values
from reference_impl.pool.wanted import Wanted


class _NumberedFromZero(AsyncEnvPool):
    def _assemble(self, parts: list[tuple[int, Values]], *, alone: bool) -> TensorDictBase:
        counted = [(row, values) for row, (_, values) in enumerate(parts)]
        return super()._assemble(parts if alone else counted, alone=alone)


class _SurplusLost(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        """Receive, and forget what came beyond `min_get`."""
        came = super()._receive(operation, wanted)
        return came[: wanted.min_get or self.min_get]


class _FinalLost(AsyncEnvPool):
    def async_step_and_maybe_reset_recv(self, *args: Any, **kwargs: Any) -> Any:
        """Receive steps that show the first observation of the next episode as their own last one."""
        steps, roots = super().async_step_and_maybe_reset_recv(*args, **kwargs)
        steps.set(("next", "observation"), roots.get("observation").clone())
        return steps, roots


class _ThirdResetRepeated(AsyncEnvPool):
    _resets = 0
    _kept: TensorDictBase | None = None

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset; the third time return what the second has returned."""
        fresh = super()._reset(tensordict, **kwargs)
        self._resets += tensordict is None
        if self._resets == 3 and self._kept is not None:
            fresh = self._kept
        self._kept = fresh.clone()
        return fresh


class _FailedActionsResent(AsyncEnvPool):
    _failed: torch.Tensor | None = None

    def step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Step; after a step that failed, with the actions of that one."""
        failed, self._failed = self._failed, None
        if failed is not None:
            tensordict = tensordict.copy().set("action", failed)
        try:
            return super().step(tensordict)
        except WorkerError:
            self._failed = tensordict.get("action").clone()
            raise


class _Swapping(Conversation):
    """Sends the first two envs what was meant for the other, when it is told to."""

    swap = False

    def send(
        self,
        operation: Operation,
        calls: Mapping[int, Values | None],
        kwargs: Mapping[int, dict[str, Any]] | None = None,
        *,
        alone: bool = False,
    ) -> tuple[int, ...]:
        """Send."""
        if self.swap and len(calls) > 1:
            first, second, *others = calls
            kept = {env: calls[env] for env in others}
            calls = {first: calls[second], second: calls[first], **kept}
        return super().send(operation, calls, kwargs, alone=alone)


class _SwappedAfterAMask(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._talk = self._swapping = _Swapping(self._workers.members)
        self._partial = False

    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset, and take note of whether it was for some of the envs only."""
        mask = mask_of(tensordict)
        if not self._one_trip:
            self._partial = mask is not None and not bool(mask.all())
        return super().reset(tensordict, **kwargs)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Step; the first step after a partial reset confuses two envs."""
        self._swapping.swap, self._partial = self._partial, False
        try:
            return super()._step(tensordict)
        finally:
            self._swapping.swap = False


class _LaterSendsSwapped(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._talk = self._swapping = _Swapping(self._workers.members)
        self._sent = False

    def async_step_and_maybe_reset_send(self, *args: Any, **kwargs: Any) -> None:
        """Send steps; all but the first time two envs are confused."""
        self._swapping.swap, self._sent = self._sent, True
        try:
            super().async_step_and_maybe_reset_send(*args, **kwargs)
        finally:
            self._swapping.swap = False


class _MaskIgnored(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset all envs or, where there is a mask, none."""
        if self._one_trip or tensordict is None or "_reset" not in tensordict.keys():  # noqa: SIM118 - a TensorDict is no dict
            return super().reset(tensordict, **kwargs)
        return tensordict.exclude("_reset").clone()


class _MaskRotated(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset the envs after those that the mask names."""
        if not self._one_trip and tensordict is not None and "_reset" in tensordict.keys():  # noqa: SIM118 - a TensorDict is no dict
            mask = tensordict.get("_reset").roll(1, 0)
            tensordict = tensordict.copy().set("_reset", mask)
        return super().reset(tensordict, **kwargs)


class _MaskCleared(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset, and clear the caller's mask."""
        mask = mask_of(tensordict)
        fresh = super().reset(tensordict, **kwargs)
        if mask is not None:
            mask.zero_()
        return fresh


class _MaskFirstOnly(AsyncEnvPool):
    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset, of several envs that the mask names, the first alone."""
        mask = mask_of(tensordict)
        if tensordict is not None and mask is not None and not self._one_trip and not mask.all():
            first = mask & (mask.cumsum(0) == 1)
            tensordict = tensordict.copy().set("_reset", first)
        return super()._reset(tensordict, **kwargs)


class _SeedsIgnored(AsyncEnvPool):
    def set_seed(
        self,
        seed: int | None = None,
        static_seed: bool = False,  # noqa: ARG002, FBT001, FBT002 - torchrl's signature
    ) -> int | None:
        """Seed nobody."""
        return seed


class _NeighbouringSeeds(AsyncEnvPool):
    def set_seed(
        self,
        seed: int | None = None,
        static_seed: bool = False,  # noqa: FBT001, FBT002 - torchrl's signature
    ) -> int | None:
        """Seed each env with the base seed plus its index, which is its neighbour's of the next."""
        envs: Sequence[int] = range(self.num_envs)
        kwargs = {
            env: {"seed": None if seed is None else seed + env, "static_seed": True} for env in envs
        }
        self._talk.ask(Operation.SET_SEED, dict.fromkeys(envs), kwargs)
        return seed if static_seed or seed is None else seed + 1


class _ErrorRaisedAgain(AsyncEnvPool):
    _first: WorkerError | None = None

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        try:
            return super()._step(tensordict)
        except WorkerError as error:
            self._first = None if isinstance(error, WorkerDied) else error
            raise

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        first, self._first = self._first, None
        if first is not None:
            raise first
        return super()._reset(tensordict, **kwargs)


class _ResetCauseLost(AsyncEnvPool):
    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        try:
            return super()._reset(tensordict, **kwargs)
        except WorkerError:
            text = "reset failed"
        raise RuntimeError(text)


class _ReceiveCauseLost(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        try:
            return super()._receive(operation, wanted)
        except WorkerError:
            text = "receive failed"
        raise RuntimeError(text)


numbered_from_zero = planted("numbered_from_zero", _NumberedFromZero)
surplus_lost = planted("surplus_lost", _SurplusLost)
final_lost_in_receive = planted("final_lost_in_receive", _FinalLost)
third_reset_repeated = planted("third_reset_repeated", _ThirdResetRepeated)
failed_actions_resent = planted("failed_actions_resent", _FailedActionsResent)
swapped_after_a_mask = planted("swapped_after_a_mask", _SwappedAfterAMask)
later_sends_swapped = planted("later_sends_swapped", _LaterSendsSwapped)
mask_ignored = planted("mask_ignored", _MaskIgnored)
mask_rotated = planted("mask_rotated", _MaskRotated)
mask_cleared = planted("mask_cleared", _MaskCleared)
mask_first_only = planted("mask_first_only", _MaskFirstOnly)
seeds_ignored = planted("seeds_ignored", _SeedsIgnored)
neighbouring_seeds = planted("neighbouring_seeds", _NeighbouringSeeds)
error_raised_again = planted("error_raised_again", _ErrorRaisedAgain)
reset_cause_lost = planted("reset_cause_lost", _ResetCauseLost)
receive_cause_lost = planted("receive_cause_lost", _ReceiveCauseLost)
