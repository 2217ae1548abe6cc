"""What samplers are shown of one moment, and what is found out about what they read."""

from __future__ import annotations

import pytest
import torch

from reference_impl.storage import SharedStorage
from reference_impl.storage.view import View
from tests.unit.reference_impl.storage.rows import rows, stamps


def storage_of(capacity: int, *batches: int) -> SharedStorage:
    storage, first = SharedStorage(capacity), 0
    for number in batches:
        storage.append(rows(first, number))
        first += number
    return storage


def test_what_is_written_over_between_the_draw_and_the_read_is_found_out():
    storage = storage_of(6, 6)
    view = storage.view()
    storage.append(rows(6, 2))
    assert stamps(view.get(torch.tensor([2, 5]))) == [2, 5]
    assert not view.moved
    view.get(torch.tensor([5, 1]))
    assert view.moved


def test_what_is_written_over_while_it_is_read_is_found_out(monkeypatch):
    storage = storage_of(6, 6)
    view = storage.view()
    read = view._columns.read

    def slow(elements, out=None):
        found = read(elements, out)
        storage.shared.claim(1)
        return found

    monkeypatch.setattr(view._columns, "read", slow)
    view.get(torch.tensor([3]))
    assert not view.moved
    view.get(torch.tensor([0]))
    assert view.moved


def test_all_of_it_is_of_one_moment():
    storage = storage_of(6, 4)
    view = storage.view()
    storage.append(rows(4, 5))
    assert (len(view), view.shape, view._is_full, view._last_cursor_index) == (4, (4,), False, 3)
    assert view[:]["stamp"].tolist()[3] == 3
    later = storage.view()
    assert (len(later), later.shape, later._is_full, later._last_cursor_index) == (6, (6,), True, 2)


def test_slots_without_a_row_are_not_drawn():
    storage = storage_of(8, 8)
    storage.shared.lose(storage.shared.claim(3))
    storage.shared.claim(2)
    drawn = storage.view()._rand_given_ndim(500)
    assert set(drawn.tolist()) == {5, 6, 7}


def test_where_few_slots_have_rows_only_those_are_drawn():
    storage = storage_of(1000, 1000)
    storage.shared.claim(999)
    assert set(storage.view()._rand_given_ndim(500).tolist()) == {999}


def test_rows_that_are_guarded_are_not_drawn():
    storage = storage_of(8, 8, 2)
    assert set(storage.view(guard=4)._rand_given_ndim(500).tolist()) == {6, 7, 0, 1}
    assert set(storage_of(8, 6).view(guard=4)._rand_given_ndim(500).tolist()) == {2, 3, 4, 5}


def test_draws_come_from_the_generator_of_the_storage():
    storage = storage_of(50, 50)
    storage._rng = torch.Generator().manual_seed(3)
    first = storage.view()._rand_given_ndim(5)
    storage._rng = torch.Generator().manual_seed(3)
    assert torch.equal(storage.view()._rand_given_ndim(5), first)


def test_no_trajectory_goes_through_a_slot_without_a_row():
    storage = storage_of(10, 10)
    storage.shared.lose(storage.shared.claim(3))
    storage.append(rows(13, 1))
    storage.shared.claim(2)
    view = storage.view()
    done = view[:]["next", "done"][:, 0].tolist()
    # Lost: 0 to 2, there: 3, in flight: 4 and 5, then the oldest that are left.
    assert done == [True, True, True, True, True, True, False, False, False, True]
    stamp = view[:]["stamp"].tolist()
    assert [stamp[3], *stamp[6:]] == [13, 6, 7, 8, 9]
    assert all(one < 0 for one in (*stamp[:3], *stamp[4:6]))


def test_entries_are_found_by_key_or_not():
    view = storage_of(4, 2).view()
    assert view[:].get("nothing") is None
    with pytest.raises(KeyError, match="nothing"):
        view[:]["nothing"]
    with pytest.raises(KeyError, match="not one entry"):
        view[:]["next"]


def test_what_else_it_is_asked_is_asked_of_the_storage():
    storage = storage_of(4, 2)
    assert View(storage, storage.shared).max_size == 4
