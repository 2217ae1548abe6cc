"""torchrl's buffers over the storage: samplers of each kind, and what a lone process gives."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict
from torchrl.data import (
    LazyTensorStorage,
    PrioritizedSampler,
    RandomSampler,
    ReplayBuffer,
    SamplerWithoutReplacement,
    SliceSampler,
)

from reference_impl.core.clock import Deadline
from reference_impl.storage import (
    RingBusy,
    SharedReplayBuffer,
    SharedStorage,
    SharedTensorDictReplayBuffer,
    SharedWriter,
)
from tests.unit.reference_impl.storage.rows import rows, stamps

EACH = [SharedReplayBuffer, SharedTensorDictReplayBuffer]


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("sizes", [(3, 4), (1, 4), (4, 1), (1, 1), (3, 3)])
def test_the_layout_is_that_of_a_lone_process(kind, ndim, sizes):
    """Batches [envs, time], whole numbers of which do not fill the storage."""
    envs, time = sizes
    plain = ReplayBuffer(storage=LazyTensorStorage(25, ndim=ndim), batch_size=4)
    shared = kind(storage=SharedStorage(25, ndim=ndim), batch_size=4)
    for first in range(0, 60, time):
        batch = rows(first, time, envs).transpose(0, 1).contiguous()
        indices = [buffer.extend(batch.clone()) for buffer in (plain, shared)]
        assert torch.equal(*indices)
        assert len(plain) == len(shared)
        assert plain.storage.shape == shared.storage.shape
        assert plain.storage.max_size == shared.storage.max_size
        stored = [buffer.storage[:] for buffer in (plain, shared)]
        assert stored[0].batch_size == stored[1].batch_size
        for key in ("stamp", "wide", ("next", "done")):
            assert torch.equal(stored[0][key], stored[1][key])
        assert torch.equal(plain[:]["stamp"], shared[:]["stamp"])
    assert shared.sample().batch_size == plain.sample().batch_size


@pytest.mark.parametrize("kind", EACH)
def test_a_buffer_counts_what_was_written(kind):
    buffer = kind(storage=SharedStorage(5), batch_size=2)
    buffer.extend(rows(0, 4))
    buffer.add(rows(4, 1)[0])
    buffer.extend(rows(5, 3))
    assert (len(buffer), buffer.write_count, buffer.writer._cursor) == (5, 8, 3)
    buffer.empty()
    assert (len(buffer), buffer.write_count, buffer.writer._cursor) == (0, 0, 0)
    with pytest.raises(RuntimeError, match="empty storage"):
        buffer.sample()


def test_the_index_that_a_buffer_adds_to_data_is_not_stored():
    buffer = SharedTensorDictReplayBuffer(storage=SharedStorage(5), batch_size=2)
    buffer.extend(rows(0, 2))
    sample = buffer.sample()
    assert torch.equal(sample["index"], sample["stamp"])
    buffer.extend(sample)
    assert "index" not in buffer[:]


def test_a_list_of_rows_is_a_batch():
    buffer = SharedReplayBuffer(storage=SharedStorage(5))
    assert buffer.extend(list(rows(0, 3).unbind(0))).tolist() == [0, 1, 2]
    assert stamps(buffer[:]) == [0, 1, 2]


def test_a_sampler_without_replacement_draws_each_row_once():
    buffer = SharedReplayBuffer(
        storage=SharedStorage(12), sampler=SamplerWithoutReplacement(), batch_size=4
    )
    buffer.extend(rows(0, 12))
    assert sorted(one for _ in range(3) for one in stamps(buffer.sample())) == list(range(12))


@pytest.mark.parametrize("key", [{"end_key": ("next", "done")}, {"traj_key": "episode"}])
@pytest.mark.parametrize("capacity", [20, 23, 37])
def test_slices_are_of_one_episode_and_consecutive_at_every_cursor(key, capacity):
    buffer = SharedTensorDictReplayBuffer(
        storage=SharedStorage(capacity), sampler=SliceSampler(slice_len=3, **key), batch_size=30
    )
    for first in range(0, 4 * capacity, 7):
        batch = rows(first, 7)
        buffer.extend(batch.set("episode", batch["stamp"] // 5))
        if first > 7:
            slices = buffer.sample()["stamp"].view(10, 3)
            assert torch.equal(slices - slices[:, :1], torch.arange(3).expand(10, 3))
            assert bool((slices // 5 == slices[:, :1] // 5).all())


@pytest.mark.parametrize("key", [{"end_key": ("next", "done")}, {"traj_key": "episode"}])
def test_slices_do_not_cross_what_is_being_written_or_lost(key):
    buffer = SharedTensorDictReplayBuffer(
        storage=SharedStorage(40), sampler=SliceSampler(slice_len=4, **key), batch_size=40
    )
    batch = rows(0, 40)
    buffer.extend(batch.set("episode", batch["stamp"] // 5))
    shared = buffer.storage.shared
    shared.lose(shared.claim(3))
    buffer.extend(rows(43, 2).set("episode", torch.tensor([8, 8])))
    shared.claim(12)
    found = set()
    for _ in range(20):
        slices = buffer.sample()["stamp"].view(10, 4)
        found.update(slices[:, 0].tolist())
        assert torch.equal(slices - slices[:, :1], torch.arange(4).expand(10, 4))
    assert found == {20, 21, 25, 26, 30, 31, 35, 36}


@pytest.mark.usefixtures("prioritized_samplers")
@pytest.mark.parametrize("kind", EACH)
def test_priorities_say_what_is_drawn(kind):
    buffer = kind(
        storage=SharedStorage(10), sampler=PrioritizedSampler(10, 1.0, 1.0), batch_size=50
    )
    buffer.extend(rows(0, 10))
    buffer.update_priority(torch.arange(10), torch.tensor([0.0] * 9 + [1e6]))
    assert set(stamps(buffer.sample())) == {9}
    buffer.extend(rows(10, 1))
    assert set(stamps(buffer.sample())) <= {9, 10}


@pytest.mark.usefixtures("prioritized_samplers")
def test_priorities_that_come_with_the_rows_count():
    buffer = SharedTensorDictReplayBuffer(
        storage=SharedStorage(10), sampler=PrioritizedSampler(10, 1.0, 1.0), batch_size=50
    )
    batch = rows(0, 10).set("td_error", torch.tensor([1e-9] * 3 + [1e9] + [1e-9] * 6))
    buffer.extend(batch)
    assert set(stamps(buffer.sample())) == {3}


@pytest.mark.usefixtures("prioritized_samplers")
def test_rows_that_others_wrote_have_the_priority_of_new_ones():
    storage = SharedStorage(10)
    buffer = SharedReplayBuffer(
        storage=storage, sampler=PrioritizedSampler(10, 1.0, 1.0), batch_size=200
    )
    buffer.extend(rows(0, 5))
    storage.append(rows(5, 3))
    assert set(stamps(buffer.sample())) == set(range(8))


@pytest.mark.usefixtures("prioritized_samplers")
def test_rows_of_several_dimensions_that_others_wrote_have_priorities():
    storage = SharedStorage(12, ndim=2)
    buffer = SharedReplayBuffer(
        storage=storage, sampler=PrioritizedSampler(12, 1.0, 1.0), batch_size=200
    )
    storage.append(rows(0, 4, 3))
    sample, info = buffer.sample(return_info=True)
    assert set(stamps(sample)) == set(range(4))
    assert set(info["index"][1].tolist()) == {0, 1, 2}


@pytest.mark.usefixtures("prioritized_samplers")
def test_priorities_do_not_bring_rows_that_are_lost_or_being_written():
    storage = SharedStorage(10)
    buffer = SharedReplayBuffer(
        storage=storage, sampler=PrioritizedSampler(10, 1.0, 1.0), batch_size=60
    )
    buffer.extend(rows(0, 10))
    storage.shared.lose(storage.shared.claim(2))
    storage.shared.claim(3)
    sample, info = buffer.sample(return_info=True)
    assert set(stamps(sample)) == set(range(5, 10))
    assert torch.equal(info["index"], sample["stamp"])


def test_a_batch_is_drawn_anew_when_a_row_of_it_was_written_over(monkeypatch):
    storage = SharedStorage(20)
    buffer = SharedReplayBuffer(storage=storage, batch_size=30)
    buffer.extend(rows(0, 20))
    sampler, times = buffer.sampler, []
    sample = sampler.sample

    def slow(view, number):
        drawn = sample(view, number)
        times.append(number)
        storage.append(rows(100 * len(times), 3))
        return drawn

    monkeypatch.setattr(sampler, "sample", slow)
    for _ in range(10):
        stamps(buffer.sample())
    assert 10 < len(times) < 40  # again, but rarely: what is written over next is left out


def test_a_sample_is_written_over_by_the_next_where_asked():
    buffer = SharedTensorDictReplayBuffer(
        storage=SharedStorage(20), batch_size=3, reuse_samples=True
    )
    buffer.extend(rows(0, 20))
    first, second = buffer.sample(), buffer.sample()
    assert first["wide"].data_ptr() == second["wide"].data_ptr()
    assert stamps(second) == second["index"].tolist()
    with pytest.raises(ValueError, match="prefetched"):
        SharedReplayBuffer(storage=SharedStorage(3), batch_size=1, prefetch=2, reuse_samples=True)


def test_prefetched_batches_are_whole_and_none_is_lost():
    buffer = SharedReplayBuffer(
        storage=SharedStorage(12), sampler=SamplerWithoutReplacement(), batch_size=3, prefetch=2
    )
    buffer.extend(rows(0, 12))
    assert sorted(one for _ in range(4) for one in stamps(buffer.sample())) == list(range(12))
    buffer.shutdown()


def test_transforms_see_what_is_read():
    buffer = SharedReplayBuffer(
        storage=SharedStorage(4),
        batch_size=2,
        transform=lambda td: td.set("twice", td["stamp"] * 2),
    )
    buffer.extend(rows(1, 4).set("twice", torch.zeros(4).long()))
    sample = buffer.sample()
    assert torch.equal(sample["twice"], 2 * sample["stamp"])


def test_a_plain_buffer_of_torchrl_works_with_its_own_writer_or_ours():
    for options in ({"writer": SharedWriter()}, {}):
        buffer = ReplayBuffer(
            storage=SharedStorage(5), collate_fn=lambda data: data, batch_size=4, **options
        )
        for first in range(0, 12, 3):
            buffer.extend(rows(first, 3))
        buffer.add(rows(12, 1)[0])
        assert sorted(stamps(buffer[:])) == [8, 9, 10, 11, 12]
        assert set(stamps(buffer.sample())) <= {8, 9, 10, 11, 12}


def test_rows_that_were_written_do_not_change():
    buffer = SharedReplayBuffer(storage=SharedStorage(5))
    buffer.extend(rows(0, 3))
    with pytest.raises(NotImplementedError, match="appended, at slot 3"):
        buffer[1:2] = rows(9, 1)


def test_rows_are_found_when_all_that_are_left_had_been_guarded():
    storage = SharedStorage(8, patience_s=1.0)
    buffer = SharedReplayBuffer(storage=storage, batch_size=4)
    buffer.extend(rows(0, 8))
    buffer._guard = 4
    storage.shared.claim(5)
    assert set(stamps(buffer.sample())) <= {5, 6, 7}


def test_rows_that_are_all_being_written_are_waited_for_within_the_bound(monkeypatch):
    storage = SharedStorage(4, patience_s=0.05)
    buffer = SharedReplayBuffer(storage=storage, batch_size=4)
    buffer.extend(rows(0, 4))
    claim = storage.shared.claim(4)
    with pytest.raises(RuntimeError, match="empty storage"):
        buffer.sample()
    looked = []

    def committed_meanwhile(_, seconds):
        looked.append(seconds)
        storage.shared.commit(claim)

    monkeypatch.setattr(Deadline, "pause", committed_meanwhile)
    assert set(stamps(buffer.sample())) <= {0, 1, 2, 3}
    assert len(looked) == 1


def test_it_does_not_wait_for_ever_for_rows_that_stay():
    storage = SharedStorage(6, patience_s=0.05)
    buffer = SharedReplayBuffer(storage=storage, batch_size=4, sampler=Stubborn())
    buffer.extend(rows(0, 6))
    storage.shared.claim(2)
    with pytest.raises(RingBusy, match="had no row"):
        buffer.sample()


class Stubborn(RandomSampler):
    """Draws slot 0."""

    def sample(self, _, batch_size):
        return torch.zeros(batch_size, dtype=torch.int64), {}


def test_what_is_not_supported_is_refused():
    with pytest.raises(TypeError, match="SharedStorage"):
        SharedReplayBuffer(storage=LazyTensorStorage(3))
    with pytest.raises(TypeError, match="SharedStorage"):
        ReplayBuffer(storage=LazyTensorStorage(3), writer=SharedWriter())
    with pytest.raises(ValueError, match="TensorDict"):
        SharedReplayBuffer(storage=SharedStorage(3)).extend(torch.zeros(3))
    assert isinstance(rows(0, 1), TensorDict)
