"""The storage in one process: what is written is read, whole, in its slots."""

from __future__ import annotations

import itertools

import pytest
import torch
from tensordict import TensorDict

from reference_impl.core.clock import MONOTONIC
from reference_impl.storage import NoRoom, RingBusy, RowsLost, RowsMismatch, SharedStorage
from reference_impl.storage.columns import Columns
from reference_impl.storage.ring import Claim
from tests.unit.reference_impl.interrupts import interrupted_at
from tests.unit.reference_impl.storage.rows import rows, stamps


def filled(capacity: int, *batches: int, **options) -> SharedStorage:
    storage, first = SharedStorage(capacity, **options), 0
    for number in batches:
        storage.append(rows(first, number))
        first += number
    return storage


def fill(storage: SharedStorage, claim: Claim, first: int) -> None:
    """Write the rows of a claim, which is left in flight."""
    columns = storage.shared.columns
    assert columns is not None
    entries = list(rows(first, claim.rows).flatten_keys().values())
    columns.write(claim.start % storage.max_size, entries, 0)


def test_it_says_nothing_of_itself_before_the_first_row():
    storage = SharedStorage(4)
    assert (len(storage), storage.initialized, storage.shape, storage.lost_rows) == (
        0,
        False,
        None,
        0,
    )
    with pytest.raises(RowsLost, match="nothing was written"):
        storage.get(0)


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 7, 16])
@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
def test_it_holds_the_last_rows_at_every_cursor(capacity, number):
    storage = SharedStorage(capacity)
    slots: list[int] = [-1] * capacity
    for first in range(0, 4 * capacity, number):
        written = storage.append(rows(first, number)).tolist()
        assert written == [p % capacity for p in range(first, first + number)]
        for stamp, slot in enumerate(written, first):
            slots[slot] = stamp
        there = [one for one in slots if one >= 0]
        assert len(storage) == len(there)
        assert stamps(storage.get(slice(None))) == there


def test_rows_are_read_by_number_sequence_and_tensor():
    storage = filled(5, 4)
    assert storage.get(2)["stamp"].item() == storage.get(-2)["stamp"].item() == 2
    assert stamps(storage.get([3, 0])) == stamps(storage.get(torch.tensor([3, 0]))) == [3, 0]
    assert stamps(storage.get(slice(1, 3))) == stamps(storage.get(range(1, 3))) == [1, 2]
    assert [one["stamp"].item() for one in storage] == [0, 1, 2, 3]
    assert storage.contains(torch.tensor([3, 4])).tolist() == [True, False]


@pytest.mark.parametrize("index", [4, torch.tensor([0, 4]), 7, -5])
def test_what_is_not_there_is_not_read(index):
    with pytest.raises(RowsLost):
        filled(9, 4).get(index)


def test_there_is_no_row_below_slot_0():
    assert filled(5, 4).contains(torch.tensor([-1, 0])).tolist() == [False, True]


def test_a_mask_names_the_slots_where_it_is_true():
    storage = filled(5, 4)
    assert stamps(storage.get(torch.tensor([False, True, False, True]))) == [1, 3]


def test_what_was_read_is_a_copy():
    storage = filled(3, 3)
    read = storage.get(torch.arange(3))
    storage.append(rows(3, 3))
    assert stamps(read) == [0, 1, 2]


def test_what_is_read_goes_where_it_is_asked_to():
    storage = filled(4, 4)
    first = storage.get(torch.tensor([0, 1]))
    memory = first["wide"].data_ptr()
    assert storage.get(torch.tensor([3, 2]), out=first) is first
    assert (stamps(first), first["wide"].data_ptr()) == ([3, 2], memory)


def test_it_is_of_the_form_of_the_first_batch():
    storage = filled(4, 1)
    read = storage.get(torch.tensor([0]))
    assert read.batch_size == torch.Size([1])
    assert sorted(map(str, read.keys(include_nested=True, leaves_only=True))) == [
        "('next', 'done')",
        "('next', 'stamp')",
        "stamp",
        "wide",
    ]
    assert read["next", "done"].dtype == torch.bool


def without(key):
    return rows(1, 2).exclude(key)


def changed(key, value):
    return rows(1, 2).set(key, value)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (without("wide"), "'wide' is missing"),
        (without(("next", "done")), r"\('next', 'done'\) is missing"),
        (changed("more", torch.zeros(2)), "the row has no more"),
        (changed("stamp", torch.zeros(2)), "'stamp' is torch.int64, got torch.float32"),
        (changed("stamp", torch.zeros(2, 1).long()), r"'stamp' of one row has the shape \(\)"),
        (changed("next", torch.zeros(2)), "'next' is a TensorDict"),
    ],
)
def test_rows_of_another_form_are_refused_before_anything_is_written(batch, message):
    storage = filled(4, 3)
    with pytest.raises(RowsMismatch, match=message):
        storage.append(batch)
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == ([0, 1, 2], 0)
    assert storage.append(rows(3, 1)).tolist() == [3]


def test_what_is_no_tensor_cannot_be_a_row():
    storage = SharedStorage(4)
    with pytest.raises(RowsMismatch, match="only tensors"):
        storage.append(TensorDict({"name": "it"}, [2]))
    assert not storage.initialized


def test_a_write_that_fails_half_way_leaves_nothing_to_read(monkeypatch):
    storage = filled(4, 4)

    def fails(self, slot, *_):
        self.column(1)[slot] = 77
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Columns, "write", fails)
        with pytest.raises(KeyboardInterrupt):
            storage.append(rows(4, 2))
    assert (stamps(storage.get(slice(None))), len(storage), storage.lost_rows) == ([2, 3], 2, 2)
    with pytest.raises(RowsLost, match="slot 1"):
        storage.get(1)


def test_rows_that_another_has_given_up_meanwhile_are_a_named_error(monkeypatch):
    storage, write = filled(4, 3), Columns.write

    def given_up(*given):
        write(*given)
        storage.shared.replace(lambda ring: ring.without(ring.owners))

    with monkeypatch.context() as patch:
        patch.setattr(Columns, "write", given_up)
        with pytest.raises(RowsLost, match="2 rows were given up"):
            storage.append(rows(3, 2))
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == ([1, 2], 2)


def test_a_row_that_is_being_written_is_waited_for_within_the_bound():
    storage = filled(4, 4, patience_s=0.05)
    claim = storage.shared.claim(1)
    with pytest.raises(RingBusy):
        storage.get(0)
    assert stamps(storage.get(slice(None))) == [1, 2, 3]
    fill(storage, claim, 9)
    storage.shared.commit(claim)
    assert len(storage) == 4


def test_a_bound_that_is_set_later_holds_there_and_in_copies():
    storage = filled(4, 4, patience_s=60.0)
    storage.shared.claim(1)
    storage.patience_s = 0.05
    _, arguments = storage.shared.__reduce__()
    assert 0.05 in arguments
    with pytest.raises(RingBusy):
        storage.get(0)


def test_writing_over_a_claim_in_flight_fails_within_the_bound_and_names_its_process():
    storage = filled(4, 4, patience_s=0.05)
    storage.shared.claim(1)
    with pytest.raises(RingBusy, match=r"1 rows .* claimed by process \d+"):
        storage.append(rows(4, 4))
    assert stamps(storage.get(slice(None))) == [1, 2, 3]
    assert storage.append(rows(5, 3)).tolist() == [1, 2, 3]


def test_what_is_owed_is_given_up_by_a_write_that_then_waits_in_vain(monkeypatch):
    storage = filled(4, 1, patience_s=0.05)
    shared = storage.shared
    mine, others = shared.claim(1), shared.claim(2)

    def busy(*_):
        raise RingBusy

    with monkeypatch.context() as patch:
        patch.setattr(shared._lock, "run", busy)
        shared.give_up([mine])
    with pytest.raises(RingBusy, match="2 rows"):
        storage.append(rows(1, 3))
    shared.commit(others)
    assert storage.append(rows(1, 3)).tolist() == [0, 1, 2]
    assert storage.lost_rows == 1


def test_a_write_that_could_claim_nothing_has_nothing_to_give_up(monkeypatch):
    storage, asked = filled(4, 1), []

    def busy(deadline, _function):
        asked.append(deadline)
        raise RingBusy

    monkeypatch.setattr(storage.shared._lock, "run", busy)
    with pytest.raises(RingBusy):
        storage.append(rows(1, 1))
    assert len(asked) == 1


def test_an_interrupt_before_a_claim_is_seen_does_not_cost_the_next_one(monkeypatch):
    storage = filled(4, 1)
    shared, give_up, others = storage.shared, storage.shared.give_up, []

    def interrupted(_ring):
        monkeypatch.undo()
        monkeypatch.setattr(shared, "give_up", late)
        raise KeyboardInterrupt

    def late(begun):
        others.append(shared.claim(2))
        give_up(begun)

    monkeypatch.setattr(shared._header, "publish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        storage.append(rows(1, 2))
    fill(storage, others[0], 1)
    shared.commit(others[0])
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == ([0, 1, 2], 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_with_gradients_are_stored_without(dtype):
    storage = SharedStorage(4)
    values = torch.ones(2, dtype=dtype, requires_grad=True)
    storage.append(TensorDict({"value": 2 * values}, [2]))
    assert not storage.get(slice(None))["value"].requires_grad


@pytest.mark.parametrize("inner", [(3,), (2, 3)])
def test_of_several_dimensions_the_first_is_the_rings(inner):
    storage = SharedStorage(25, ndim=1 + len(inner))
    each = torch.Size(inner).numel()
    capacity = -(-25 // each)
    for first in range(0, 3 * capacity, 4):
        storage.append(rows(first, 4, *inner))
    last = -(-3 * capacity // 4) * 4
    expected = sorted(range(last - capacity, last), key=lambda stamp: stamp % capacity)
    assert storage.max_size == len(storage) == capacity * each
    assert storage.shape == (capacity, *inner)
    assert storage.get(slice(None))["stamp"][..., *(0,) * len(inner)].tolist() == expected
    rest = storage.get((slice(1, None), *(0 for _ in inner)))
    assert stamps(rest) == expected[1:]
    picked = (torch.tensor([1, 0]), *(torch.tensor([size - 1, 0]) for size in inner))
    assert stamps(storage.get(picked)) == [expected[1], expected[0]]


def test_rows_keep_the_dimensions_that_are_not_the_storages():
    storage = SharedStorage(4)
    storage.append(rows(0, 3, 2))
    assert storage.get(torch.tensor([2])).batch_size == (1, 2)
    with pytest.raises(RowsMismatch, match="shape"):
        storage.append(rows(0, 3, 1))


def test_a_batch_of_too_few_dimensions_is_refused():
    with pytest.raises(RowsMismatch, match="3 dimensions"):
        SharedStorage(4, ndim=3).append(rows(0, 2, 2))


def test_emptied_it_begins_again_at_slot_0():
    storage = filled(4, 3)
    storage.shared.empty(count=True)
    assert (len(storage), storage.append(rows(7, 2)).tolist()) == (0, [0, 1])
    assert stamps(storage.get(slice(None))) == [7, 8]


def test_memory_that_cannot_be_had_is_a_named_error_and_loses_nothing(monkeypatch):
    storage = SharedStorage(1 << 40)
    for _ in range(2):
        with pytest.raises(NoRoom, match=r"no room for .* in memory"):
            storage.append(rows(0, 2))
    assert not storage.initialized
    small = filled(4, 2)
    small.shared._header.room = 2
    monkeypatch.setattr("os.posix_fallocate", no_room)
    with pytest.raises(NoRoom, match="no room for"):
        small.append(rows(2, 1))
    assert (stamps(small.get(slice(None))), small.lost_rows) == ([0, 1], 0)


def no_room(*_):
    raise OSError(28, "No space left on device")


def test_a_write_waits_for_its_slots_and_its_layout_by_one_deadline(monkeypatch):
    storage, asked = SharedStorage(4), []
    run = storage.shared._lock.run

    def noted(deadline, function):
        asked.append(deadline.at)
        return run(deadline, function)

    monkeypatch.setattr(storage.shared._lock, "run", noted)
    storage.append(rows(0, 1))
    assert len(asked) >= 3  # for the layout, room, the claim, and its commit
    assert len(set(asked)) == 1


def test_a_commit_waits_a_second_for_the_lock_though_the_bound_is_over(monkeypatch):
    storage, asked = filled(4, 1, patience_s=0.0), []
    run = storage.shared._lock.run

    def noted(deadline, function):
        asked.append(deadline.at)
        return run(deadline, function)

    monkeypatch.setattr(storage.shared._lock, "run", noted)
    began = MONOTONIC.now()
    assert storage.append(rows(1, 1)).tolist() == [1]
    over = MONOTONIC.now()
    assert began <= asked[-2] <= over
    assert began + 1.0 <= asked[-1] <= over + 1.0


def test_who_waited_for_slots_does_not_wait_as_long_for_the_lock(monkeypatch):
    storage = filled(4, 4, patience_s=0.05)
    storage.shared.claim(1)
    asked = []
    run = storage.shared._lock.run

    def noted(deadline, function):
        asked.append(deadline.at)
        return run(deadline, function)

    monkeypatch.setattr(storage.shared._lock, "run", noted)
    with pytest.raises(RingBusy):
        storage.append(rows(4, 4))
    assert len(asked) > 1
    assert len(set(asked)) == 1


def test_a_write_that_is_interrupted_anywhere_is_whole_or_not_there_and_holds_up_nobody():
    for point in itertools.count():
        storage = filled(4, 4, patience_s=0.2)
        interrupted = interrupted_at(point, storage.append, rows(4, 2))
        there = stamps(storage.get(slice(None)))
        assert there == [4, 5, 2, 3] or (interrupted and there in ([2, 3], [0, 1, 2, 3]))
        storage.append(rows(9, 4))
        assert sorted(stamps(storage.get(slice(None)))) == [9, 10, 11, 12]
        if not interrupted:
            break
    assert point > 100


def test_more_lost_writes_than_can_be_told_apart_hold_up_nobody(monkeypatch, caplog):
    monkeypatch.setattr("reference_impl.storage.shared_ring.CLAIMS_MAX", 5)
    storage = SharedStorage(20, patience_s=0.05)
    for number in range(5):
        storage.append(rows(number, 1))
        storage.shared.lose(storage.shared.claim(1))
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == ([0, 1, 2, 3, 4], 5)
    assert storage.append(rows(7, 1)).tolist() == [10]
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == ([0, 2, 3, 4, 7], 6)
    assert "1 rows were lost: they lay between" in caplog.text
