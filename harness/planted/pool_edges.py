"""The reference's pool with one bug each that shows with masks, short episodes, many envs, or seeds."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
from tensordict import TensorDictBase

from harness.planted.variants import mask_of, planted, talking
from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Operation
from reference_impl.pool.state import Delivery
from reference_impl.pool.values import Values
from reference_impl.pool.wanted import Wanted

_MANY = 16


class _EmptyMaskIsNone(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset; a mask that names no env is taken for none, so that all are reset."""
        mask = mask_of(tensordict)
        return super().reset(None if mask is not None and not mask.any() else tensordict, **kwargs)


class _FullMaskIgnored(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset; a mask that names every env is taken for one that names none."""
        mask = mask_of(tensordict)
        if mask is not None and mask.all() and not self._one_trip:
            assert tensordict is not None
            tensordict = tensordict.copy().set("_reset", torch.zeros_like(mask))
        return super().reset(tensordict, **kwargs)


class _FreshOnesSkipped(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        self.__dict__["_began"] = set(self._fresh)
        return stepped

    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset; masked envs that the step before has reset are left as they are."""
        mask = mask_of(tensordict)
        if mask is not None and not self._one_trip:
            assert tensordict is not None
            kept = mask.clone()
            for env in self.__dict__.get("_began", ()):
                kept[env] = False
            tensordict = tensordict.copy().set("_reset", kept)
        return super().reset(tensordict, **kwargs)


class _ResetTwiceInARow(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Step; an env that ends two steps in a row is reset once more."""
        stepped = super()._step(tensordict)
        ended = set(self._fresh)
        for env in ended & self.__dict__.get("_ended", set()):
            self._fresh.pop(env)
        self.__dict__["_ended"] = ended
        return stepped


class _SixteenAtMost(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if self.num_envs > _MANY:
            moved = torch.arange(self.num_envs) < _MANY
            tensordict = tensordict.copy().set("_step", moved)
        return super()._step(tensordict)


class _SixteenSeeds(AsyncEnvPool):
    def set_seed(
        self,
        seed: int | None = None,
        static_seed: bool = False,  # noqa: FBT001, FBT002 - torchrl's signature
    ) -> int | None:
        """Seed the envs in a chain that begins anew after sixteen."""
        first = seed
        for env in range(self.num_envs):
            given = first if env % _MANY == 0 else seed
            kwargs = {env: {"seed": given, "static_seed": static_seed}}
            seed = self._talk.ask(Operation.SET_SEED, {env: None}, kwargs)[env]
        return seed


class _EqualSeedSkipped(AsyncEnvPool):
    def set_seed(
        self,
        seed: int | None = None,
        static_seed: bool = False,  # noqa: FBT001, FBT002 - torchrl's signature
    ) -> int | None:
        """Seed, unless that is the base seed that the envs had before."""
        if seed == self.__dict__.get("_last_seed"):
            return seed
        self.__dict__["_last_seed"] = seed
        return super().set_seed(seed, static_seed)


class _SeedsOfAllPools(AsyncEnvPool):
    made: ClassVar[int] = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _SeedsOfAllPools.made += 1
        self._number = self.made

    def set_seed(
        self,
        seed: int | None = None,
        static_seed: bool = False,  # noqa: FBT001, FBT002 - torchrl's signature
    ) -> int | None:
        """Seed with a number that counts the pools of this process, too."""
        return super().set_seed((seed or 0) + 1000 * self._number, static_seed)


class _NoTimeIsForever(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        return super()._receive(operation, replace(wanted, timeout=wanted.timeout or None))


class _InTheirOrder(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        """Receive, beginning with the first env, whatever becomes of the others meanwhile."""
        state = self._talk._state  # noqa: SLF001 - a look at what the bug is about
        if wanted.timeout is None and state.oldest_unanswered(0) is not None:
            channel.wait((self._workers.members[0].end,), (), Deadline.after(None))
        return super()._receive(operation, wanted)


class _WaitsForNothing(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        """Receive, once there is something to read, though nothing be under way."""
        state = self._talk._state  # noqa: SLF001 - a look at what the bug is about
        if all(state.oldest_unanswered(env) is None for env in range(self.num_envs)):
            channel.wait(
                [each.end for each in self._workers.members], (), Deadline.after(wanted.timeout)
            )
        return super()._receive(operation, wanted)


class _WaitsItsTurn(AsyncEnvPool):
    def _send(self, *args: Any, **kwargs: Any) -> None:
        self._wait()
        super()._send(*args, **kwargs)

    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset, once all was received."""
        self._wait()
        return super().reset(tensordict, **kwargs)

    def _wait(self) -> None:
        if self._talk._state.busy():  # noqa: SLF001 - a look at what the bug is about
            threading.Event().wait()  # for a receive, which the same caller would have to make


class _RefusedTakesAll(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        """Receive; if that is more than is to come, all that comes is dropped."""
        try:
            return super()._receive(operation, wanted)
        except WorkerError:
            raise
        except RuntimeError:
            left = self._talk._state.outstanding(operation)  # noqa: SLF001 - a look at what the bug is about
            if left:
                super()._receive(operation, Wanted(left, timeout=1.0))
            raise


class _ResetWedged(AsyncEnvPool):
    _wedged = False

    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset, unless an earlier one has raised."""
        if self._wedged:
            raise RuntimeError("a reset is under way")
        self._wedged = True
        reset = super().reset(tensordict, **kwargs)
        self._wedged = False
        return reset


class _TwoForgiven(Conversation):
    _failures = 0

    def ask(
        self,
        operation: Operation,
        calls: Mapping[int, Values | None],
        kwargs: Mapping[int, dict[str, Any]] | None = None,
    ) -> dict[int, Any]:
        """Ask; from the third failure in a row on, wait for something that does not come."""
        try:
            found = super().ask(operation, calls, kwargs)
        except WorkerError:
            self._failures += 1
            if self._failures > 2:
                threading.Event().wait()
            raise
        self._failures = 0
        return found


empty_mask_is_none = planted("empty_mask_is_none", _EmptyMaskIsNone)
full_mask_ignored = planted("full_mask_ignored", _FullMaskIgnored)
fresh_ones_skipped = planted("fresh_ones_skipped", _FreshOnesSkipped)
reset_twice_in_a_row = planted("reset_twice_in_a_row", _ResetTwiceInARow)
sixteen_at_most = planted("sixteen_at_most", _SixteenAtMost)
sixteen_seeds = planted("sixteen_seeds", _SixteenSeeds)
equal_seed_skipped = planted("equal_seed_skipped", _EqualSeedSkipped)
seeds_of_all_pools = planted("seeds_of_all_pools", _SeedsOfAllPools)
no_time_is_forever = planted("no_time_is_forever", _NoTimeIsForever)
in_their_order = planted("in_their_order", _InTheirOrder)
waits_for_nothing = planted("waits_for_nothing", _WaitsForNothing)
waits_its_turn = planted("waits_its_turn", _WaitsItsTurn)
refused_takes_all = planted("refused_takes_all", _RefusedTakesAll)
reset_wedged = planted("reset_wedged", _ResetWedged)
third_failure_hangs = planted("third_failure_hangs", talking(_TwoForgiven))
