"""Slices that may be short, or are of one row, are of rows alone: never of slots that hold none."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torchrl.data import SliceSampler

from reference_impl.storage import RingBusy, SharedStorage, SharedTensorDictReplayBuffer
from reference_impl.storage.slices import draws_slices
from tests.unit.reference_impl.storage.rows import rows, stamps

KEYS: dict[str, dict[str, Any]] = {
    "flags": {"end_key": ("next", "done")},
    "numbers": {"traj_key": "episode"},
    "fractions": {"traj_key": "fraction"},
}


class Counted(SliceSampler):
    """A sampler that counts how often it is asked."""

    asked = 0

    def sample(self, storage, batch_size):
        self.asked += 1
        return super().sample(storage, batch_size)


def put(buffer, first, number, *inner):
    """Write rows of episodes of five, in which the stamp is the row's position."""
    batch = rows(first, number, *inner)
    episode = batch["stamp"] // 5
    buffer.extend(batch.update({"episode": episode, "fraction": episode / 4}))


def lose(buffer, number):
    shared = buffer.storage.shared
    shared.lose(shared.claim(number))


def fewer_than_fit(buffer):
    put(buffer, 0, 12)


def lost_in_an_episode(buffer):
    put(buffer, 0, 12)
    lose(buffer, 1)
    put(buffer, 13, 7)


def lost_where_nobody_had_written(buffer):
    put(buffer, 0, 13)
    lose(buffer, 12)
    put(buffer, 25, 6)


def half_of_them_lost(buffer):
    put(buffer, 0, 40)
    lose(buffer, 20)
    put(buffer, 60, 2)


def being_written(buffer):
    put(buffer, 0, 40)
    buffer.storage.shared.claim(12)


def lost_across_the_end(buffer):
    for first in range(0, 70, 7):
        put(buffer, first, 7)
    lose(buffer, 13)
    put(buffer, 83, 8)
    buffer.storage.shared.claim(3)


def guarded(buffer):
    put(buffer, 0, 40)
    put(buffer, 40, 3)
    buffer._guard = 20


SETUPS = [
    fewer_than_fit,
    lost_in_an_episode,
    lost_where_nobody_had_written,
    half_of_them_lost,
    being_written,
    lost_across_the_end,
    guarded,
]


def buffer_of(sampler, capacity=40, ndim=1, batch_size=200):
    storage = SharedStorage(capacity, ndim=ndim, patience_s=0.3)
    return SharedTensorDictReplayBuffer(storage=storage, sampler=sampler, batch_size=batch_size)


def runs_of(positions):
    """Cut positions, in order, where an episode ends or one is missing."""
    runs = [[positions[0]]]
    for one, other in pairwise(positions):
        if other != one + 1 or other % 5 == 0:
            runs.append([])
        runs[-1].append(other)
    return runs


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("flags", {}),
        ("numbers", {"pad_output": True}),
        ("fractions", {}),
        ("numbers", {"slice_len": 1, "strict_length": True}),
    ],
)
def test_every_row_that_there_is_is_drawn_at_once_and_no_other(setup, key, options):
    sampler = Counted(**{"slice_len": 4, "strict_length": False, **KEYS[key], **options})
    buffer = buffer_of(sampler)
    setup(buffer)
    guard, slices = buffer._guard, set()
    runs = runs_of(buffer.storage.view(guard).open_positions().tolist())
    for number in range(1, 11):
        buffer._guard = guard
        sample = buffer.sample()
        assert sampler.asked == number
        real = sample.get(("collector", "mask"), torch.ones(len(sample), dtype=torch.bool))
        drawn, start = stamps(sample), 0
        for last in sample["next", "truncated"].squeeze(-1).nonzero()[:, 0].tolist():
            slices.add(tuple(drawn[at] for at in range(start, last + 1) if real[at]))
            start = last + 1
    length = sampler.slice_len
    assert slices == {
        tuple(run[at : at + length]) for run in runs for at in range(max(len(run) - length, 0) + 1)
    }


def test_a_lone_row_is_drawn():
    buffer = buffer_of(SliceSampler(slice_len=4, strict_length=False, end_key=("next", "done")))
    put(buffer, 0, 8)
    lose(buffer, 39)
    assert set(stamps(buffer.sample())) == {7}


def test_where_all_rows_are_lost_it_says_so_in_time():
    buffer = buffer_of(SliceSampler(slice_len=4, strict_length=False, traj_key="episode"))
    put(buffer, 0, 40)
    lose(buffer, 40)
    with pytest.raises(RingBusy, match="had no row"):
        buffer.sample()


def test_slices_of_several_dimensions_are_of_one_env_each():
    sampler = SliceSampler(slice_len=4, strict_length=False, traj_key="env_episode")
    buffer = buffer_of(sampler, capacity=36, ndim=2)
    batch = rows(0, 12, 3)
    envs = torch.arange(3).expand(12, 3)
    buffer.extend(batch.update({"env_episode": batch["stamp"] // 5, "env": envs}).transpose(0, 1))
    lose(buffer, 3)
    sample, info = buffer.sample(return_info=True)
    assert set(stamps(sample)) == set(range(3, 12))
    assert torch.equal(sample["env"], info["index"][1])
    assert set(info["index"][1].tolist()) == {0, 1, 2}


def test_episodes_that_lie_in_pieces_are_put_together_around_what_is_lost():
    sampler = SliceSampler(slice_len=4, traj_key="episode", step_key="step", fragmented=True)
    buffer = buffer_of(sampler)
    for first in (0, 2, 4):  # two episodes by turns
        batch = rows(first, 4)
        turns = {"episode": torch.tensor([0, 0, 1, 1]), "step": torch.tensor([0, 1, 0, 1]) + first}
        buffer.extend(batch.update(turns))
        lose(buffer, 7)
    sample = buffer.sample()
    steps = sample["step"].view(-1, 4)
    assert torch.equal(steps - steps[:, :1], torch.arange(4).expand(len(steps), 4))
    assert set(sample["episode"].tolist()) == {0, 1}


@pytest.mark.parametrize("remembers", [False, True])
def test_who_remembers_where_trajectories_are_is_shown_all_slots(remembers):
    sampler = SliceSampler(slice_len=4, traj_key="episode", cache_values=remembers)
    assert draws_slices(sampler) is not remembers
    buffer = buffer_of(sampler)
    half_of_them_lost(buffer)
    assert set(stamps(buffer.sample())) <= {*range(22, 40)}
