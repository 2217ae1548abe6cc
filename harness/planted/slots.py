"""The reference's pool with one bug each in its shared slots.

They run over slots only: by value none of them has a place. Each replaces one part of the pool, in the
process of its cell and before the workers are forked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from tensordict import TensorDict

from harness.planted.variants import planted, replacing
from harness.ports.backend import Backend
from reference_impl.core import channel
from reference_impl.core.bell import Bell
from reference_impl.core.channel import End
from reference_impl.core.clock import Deadline
from reference_impl.pool import column_calls, env_pool, slot_line, slots, worker_slot
from reference_impl.pool.dense import Columns, DenseSteps
from reference_impl.pool.lines import Heard
from reference_impl.pool.messages import Operation
from reference_impl.pool.picks import Pick
from reference_impl.pool.sent import Sent
from reference_impl.pool.slot_line import SlotLine
from reference_impl.pool.slot_wires import Wire
from reference_impl.pool.slots import Slots, Unfit
from reference_impl.pool.state import Delivery
from reference_impl.pool.worker_slot import WorkerSlot, WorkerSlots

_WRITING_S = 0.1  # how long a row is in the making, where that has to be seen


def _planted(name: str, module: ModuleType, part: str, wrong: object) -> Backend:
    return planted(
        name,
        replacing(module, part, wrong),
        transport=frozenset({"process"}),
        exchange=frozenset({"slots", "auto"}),
    )


class _ColumnsHandedOut(DenseSteps):
    """Hands out the columns themselves: a batch is gone with the next step."""

    def read(self, pick: Pick, *, lent: bool = False) -> Columns | None:
        came = super().read(pick, lent=lent)
        if came is not None:
            came.following.update({key: column for key, (_, column) in self._following.items()})
        return came


class _RowOfTheStepBefore(DenseSteps):
    """Shows of the last env what it showed after the step before."""

    def write(self, entries: Mapping[str, Any], pick: Pick) -> int:
        self._before = {key: column[-1].clone() for key, (_, column) in self._following.items()}
        return super().write(entries, pick)

    def read(self, pick: Pick, *, lent: bool = False) -> Columns | None:
        came = super().read(pick, lent=lent)
        if came is not None:
            for key, before in self._before.items():
                came.following[key][-1] = before
        return came


class _RewardOfTheNextEnv(DenseSteps):
    """Takes the rewards one env off."""

    def read(self, pick: Pick, *, lent: bool = False) -> Columns | None:
        came = super().read(pick, lent=lent)
        if came is not None:
            came.following["reward"] = came.following["reward"].roll(1, 0)
        return came


class _ExtrasBelowNext(DenseSteps):
    """Merges what the caller's data holds beside the specs into what follows, too."""

    def stepped(self, given: Mapping[str, Any], following: TensorDict, pick: Pick) -> TensorDict:
        known = {*self._given, *self._root, *following.keys()}
        extras = {key: leaf for key, leaf in given.items() if key not in known}
        return super().stepped(given, following.copy().update(extras), pick)


class _RootsOfAllEnvs(DenseSteps):
    """Where one env was reset, takes the roots of all for new ones."""

    def read(self, pick: Pick, *, lent: bool = False) -> Columns | None:
        came = super().read(pick, lent=lent)
        if came is not None and came.restarted is not None:
            roots = {key: pick.copy(column) for key, (_, column) in self._root.items()}
            return Columns(came.following, roots)
        return came


class _SubsetsCounted(DenseSteps):
    """Reads the columns from the first row on, whoever has answered."""

    def read(self, pick: Pick, *, lent: bool = False) -> Columns | None:
        came = super().read(pick, lent=lent)
        if came is not None:
            first = self.picks.of(range(len(pick.envs)))
            shown = {key: first.copy(column) for key, (_, column) in self._following.items()}
            came.following.update(shown)
        return came


class _GivenBackTurned(Sent):
    """Returns with each step what was sent to the env before."""

    def take(self, pick: Pick, *, lent: bool) -> dict[str, torch.Tensor]:
        return {key: leaf.roll(1, 0) for key, leaf in super().take(pick, lent=lent).items()}


class _RingingSlot(WorkerSlot):
    """Rings, and only then writes the row."""

    bell: Bell

    def answer(self, operation: Operation, result: Any) -> bool:
        if operation is not Operation.STEP_THEN_RESET:
            return super().answer(operation, result)
        slots_, env = self._slots, self._env
        following, root = result
        slots_.answer(env, slots_.following.full, 0 if root is None else slots_.root.full)
        self.bell.ring()
        channel.wait((), (), Deadline.after(_WRITING_S))
        slots_.following.put(env, following)
        if root is not None:
            slots_.root.put(env, root)
        return True


class _RungEarly(WorkerSlots):
    def __init__(self, slots: Slots, wire: Wire, end: End, *, strict: bool) -> None:
        super().__init__(slots, wire, end, strict=strict)
        for slot in self._members:
            slot.__class__ = _RingingSlot
            slot.__dict__["bell"] = wire.answered


class _EntriesForgotten(Slots):
    """Says that all entries were written, whatever the env has shown."""

    def answer(self, env: int, following: int, root: int) -> None:
        super().answer(env, self.following.full if following else 0, root)


class _Unfit(WorkerSlot):
    """Leaves out what fits no slot, and says nothing."""

    def answer(self, operation: Operation, result: Any) -> bool:
        try:
            return super().answer(operation, result)
        except TypeError:
            self._slots.answer(self._env, self._slots.following.full, 0)
            return True


class _RowsCounted(SlotLine):
    """Reads the slots from the first one on, whoever has answered."""

    def collect(self, deliveries: list[Delivery]) -> list[Delivery]:
        counted = [each._replace(env=row) for row, each in enumerate(deliveries)]
        came = super().collect(counted)
        return [one._replace(env=each.env) for one, each in zip(came, deliveries, strict=True)]


class _DeafToEnds(SlotLine):
    """Waits for bells, and for nothing else."""

    def _heard(self, replies: Sequence[tuple[int, int]]) -> Heard:
        self._wires.take_nudge()
        return Heard(replies, (), ())


class _BatchesKept(SlotLine):
    """Keeps each batch that it has told of."""

    def command_all(self, requests: Sequence[int], operation: Operation, given: int) -> list[int]:
        kept: list[torch.Tensor] = self.__dict__.setdefault("_kept", [])
        kept.append(torch.ones(64 * 1024))
        return super().command_all(requests, operation, given)


def _through_floats(cell: torch.Tensor, leaf: Any, path: tuple[str, ...]) -> None:
    if not isinstance(leaf, torch.Tensor) or leaf.numel() != cell.numel():
        raise Unfit(f"{path} does not fit")
    cell.copy_(leaf.detach().float().reshape(cell.shape))


def _half_copied(cell: torch.Tensor, leaf: Any, path: tuple[str, ...]) -> None:
    if not isinstance(leaf, torch.Tensor) or leaf.numel() != cell.numel():
        raise Unfit(f"{path} does not fit")
    flat = leaf.detach().reshape(-1)
    cell.view(-1)[: max(1, len(flat) // 2)] = flat[: max(1, len(flat) // 2)]


columns_handed_out = _planted("columns_handed_out", env_pool, "DenseSteps", _ColumnsHandedOut)
row_of_the_step_before = _planted(
    "row_of_the_step_before", env_pool, "DenseSteps", _RowOfTheStepBefore
)
reward_of_the_next_env = _planted(
    "reward_of_the_next_env", env_pool, "DenseSteps", _RewardOfTheNextEnv
)
extras_below_next = _planted("extras_below_next", env_pool, "DenseSteps", _ExtrasBelowNext)
roots_of_all_envs = _planted("roots_of_all_envs", env_pool, "DenseSteps", _RootsOfAllEnvs)
subsets_counted = _planted("subsets_counted", env_pool, "DenseSteps", _SubsetsCounted)
given_back_turned = _planted("given_back_turned", column_calls, "Sent", _GivenBackTurned)
rung_early = _planted("rung_early", worker_slot, "WorkerSlots", _RungEarly)
entries_forgotten = _planted("entries_forgotten", worker_slot, "Slots", _EntriesForgotten)
unfit_left_out = _planted("unfit_left_out", worker_slot, "WorkerSlot", _Unfit)
slots_counted = _planted("slots_counted", slot_line, "SlotLine", _RowsCounted)
deaf_to_ends = _planted("deaf_to_ends", slot_line, "SlotLine", _DeafToEnds)
batches_kept = _planted("batches_kept", slot_line, "SlotLine", _BatchesKept)
numbers_through_floats = _planted("numbers_through_floats", slots, "copy_into", _through_floats)
half_of_an_entry = _planted("half_of_an_entry", slots, "copy_into", _half_copied)
