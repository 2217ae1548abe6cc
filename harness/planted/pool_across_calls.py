"""The reference's pool with one bug each that shows only in a later call, or in another thread."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from tensordict import TensorDict, TensorDictBase

from harness.planted.variants import planted
from reference_impl.core.errors import WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.messages import Operation
from reference_impl.pool.state import Delivery
from reference_impl.pool.values import Values
from reference_impl.pool.wanted import Wanted


class _SlotHandedOut(AsyncEnvPool):
    def _assemble(self, parts: list[tuple[int, Values]], *, alone: bool) -> TensorDictBase:
        """Assemble a batch whose observations lie where those of the one before do."""
        batch = super()._assemble(parts, alone=alone)
        if isinstance(batch, TensorDict) and "next" not in batch.keys():  # noqa: SIM118 - a TensorDict is no dict
            fresh = batch.get("observation")
            slots = self.__dict__.setdefault("_slots", {})
            batch.set("observation", slots.setdefault(fresh.shape, fresh).copy_(fresh))
        return batch


class _EqualSeeds(AsyncEnvPool):
    def set_seed(
        self,
        seed: int | None = None,
        static_seed: bool = False,  # noqa: FBT001, FBT002 - torchrl's signature
    ) -> int | None:
        """Seed every env with the same."""
        kwargs = {"seed": seed, "static_seed": static_seed}
        envs = dict.fromkeys(range(self.num_envs))
        self._talk.ask(Operation.SET_SEED, envs, dict.fromkeys(envs, kwargs))
        return seed


class _ClosedByItsOwner(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._maker = threading.get_ident()

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close, in the thread that made the pool; any other raises."""
        if threading.get_ident() != self._maker:
            raise RuntimeError("a pool belongs to the thread that made it")
        super().close(raise_if_closed=raise_if_closed)


class _SilentlyUnusable(AsyncEnvPool):
    _broken = False

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._refuse()
        try:
            return super()._step(tensordict)
        except WorkerError:
            self._broken = True
            raise

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        self._refuse()
        return super()._reset(tensordict, **kwargs)

    def _refuse(self) -> None:
        if self._broken:
            raise RuntimeError("step and reset are not possible now")


class _ReadyResultsLost(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        try:
            return super()._receive(operation, wanted)
        except WorkerError:
            with contextlib.suppress(RuntimeError, TimeoutError):
                super()._receive(operation, Wanted(self.num_envs - 1, timeout=1.0))
            raise


slot_handed_out = planted("slot_handed_out", _SlotHandedOut)
equal_seeds = planted("equal_seeds", _EqualSeeds)
closed_by_its_owner_only = planted("closed_by_its_owner_only", _ClosedByItsOwner)
silently_unusable = planted("silently_unusable", _SilentlyUnusable)
ready_results_lost = planted("ready_results_lost", _ReadyResultsLost)
