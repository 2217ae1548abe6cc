"""Each row once before any again, over slots without rows."""

from __future__ import annotations

import pytest
from torchrl.data import SamplerWithoutReplacement

from reference_impl.storage import RingBusy, SharedReplayBuffer, SharedStorage
from reference_impl.storage.view import View
from tests.unit.reference_impl.storage.rows import rows, stamps


def with_lost(lost: int, *, behind: int = 0, inner=(), batch_size: int = 4, **options):
    """A buffer of 12 rows, so many of which a dead writer lost, and so many were written after them."""
    storage = SharedStorage(12 * max(1, *inner, 1), ndim=1 + len(inner), patience_s=0.3)
    buffer = SharedReplayBuffer(
        storage=storage, sampler=SamplerWithoutReplacement(**options), batch_size=batch_size
    )
    storage.append(rows(0, 12, *inner))
    if lost:
        storage.shared.lose(storage.shared.claim(lost))
    if behind:
        storage.append(rows(12 + lost, behind, *inner))
    return buffer


def an_epoch(buffer) -> list[list[int]]:
    batches = []
    while True:
        batches.append(stamps(buffer.sample()))
        if buffer.sampler.ran_out:
            return batches


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("batch_size", [1, 4, 5, 20])
@pytest.mark.parametrize(("lost", "behind"), [(0, 0), (1, 0), (5, 0), (5, 3), (9, 2), (11, 0)])
def test_an_epoch_is_each_row_that_there_is_once(lost, behind, batch_size, shuffle):
    buffer = with_lost(lost, behind=behind, batch_size=batch_size, shuffle=shuffle)
    there = sorted(stamps(buffer[:]))
    assert len(there) == 12 - lost
    for _ in range(3):
        batches = an_epoch(buffer)
        assert sorted(one for batch in batches for one in batch) == there
        assert [len(batch) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)


@pytest.mark.parametrize(("lost", "batch_size"), [(0, 5), (3, 4), (3, 9), (7, 2)])
def test_the_last_rows_are_dropped_where_they_make_no_batch(lost, batch_size):
    buffer = with_lost(lost, batch_size=batch_size, drop_last=True)
    for _ in range(3):
        batches = an_epoch(buffer)
        drawn = [one for batch in batches for one in batch]
        assert [len(batch) for batch in batches] == [batch_size] * ((12 - lost) // batch_size)
        assert len(set(drawn)) == len(drawn)


def test_rows_that_make_no_batch_at_all_are_an_error_within_the_bound():
    with pytest.raises(RingBusy, match="had no row"):
        with_lost(9, batch_size=4, drop_last=True).sample()


def test_an_epoch_of_several_dimensions_is_each_element_once():
    buffer = with_lost(4, inner=(3,), batch_size=5)
    drawn: list[tuple[int, ...]] = []
    for _ in range(5):
        sample, info = buffer.sample(return_info=True)
        stamps(sample)
        drawn += zip(*(part.tolist() for part in info["index"]), strict=True)
    assert sorted(drawn) == [(row, element) for row in range(4, 12) for element in range(3)]


def test_iterating_is_one_epoch():
    buffer = with_lost(5, batch_size=2)
    assert sorted(one for batch in buffer for one in stamps(batch)) == list(range(5, 12))


def test_rows_that_were_lost_in_an_epoch_are_left_out_of_it():
    buffer = with_lost(0)
    first = stamps(buffer.sample())
    storage = buffer.storage
    storage.shared.lose(storage.shared.claim(3))
    rest = [one for batch in an_epoch(buffer) for one in batch]
    assert sorted(rest) == sorted(set(range(3, 12)) - set(first))


def test_what_was_drawn_in_vain_has_its_turn(monkeypatch):
    buffer = with_lost(0, shuffle=False)
    get, times = View.get, []

    def overtaken(self, *given):
        found = get(self, *given)
        times.append(1)
        if len(times) == 1:
            self.moved = True
        return found

    monkeypatch.setattr(View, "get", overtaken)
    assert an_epoch(buffer) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
