"""A layout is said by one row, and is the same after it has travelled as JSON."""

from __future__ import annotations

import json

import pytest
import torch
from tensordict import TensorDict

from reference_impl.storage import RowsMismatch
from reference_impl.storage.layout import entries_of, from_json, layout_of, name_of, to_json

ROW = TensorDict(
    {
        "a": torch.zeros(2, 3, 4, dtype=torch.bfloat16),
        "b": TensorDict({"c": torch.zeros(2, 3, dtype=torch.bool)}, [2, 3]),
        "d": torch.zeros(2, 3, 0),
    },
    [2, 3],
)


@pytest.mark.parametrize(("ndim", "rows", "inner"), [(1, 50, ()), (2, 25, (2,)), (3, 9, (2, 3))])
def test_the_capacity_counts_the_elements_of_all_dimensions(ndim, rows, inner):
    layout = layout_of(ROW, 50, ndim)
    assert (layout.rows, layout.inner, layout.root.batch_size) == (rows, inner, (2, 3))


def test_columns_do_not_overlap_and_lie_within_its_size():
    layout = layout_of(ROW, 1000, 1)
    ends = [one.offset + one.nbytes * layout.rows for one in layout.columns]
    starts = [one.offset for one in layout.columns]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert all(start % 4096 == 0 for start in starts)
    assert ends[-1] <= layout.size


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_it_travels_as_json(ndim):
    layout = layout_of(ROW, 1000, ndim)
    assert from_json(json.loads(json.dumps(to_json(layout)))) == layout


def test_rows_before_a_byte_have_all_their_entries_before_it():
    layout = layout_of(ROW, 10, 1)
    first, second, _ = layout.columns
    assert layout.rows_before(layout.size) == 10
    assert layout.rows_before(second.offset + 3 * second.nbytes + 1) == 3
    assert layout.rows_before(first.offset + 3 * first.nbytes) == 0


def test_entries_come_by_column_and_are_not_copied():
    layout = layout_of(ROW, 10, 1)
    batch = TensorDict.lazy_stack([ROW, ROW]).contiguous()
    entries = entries_of(layout, batch, (2,))
    assert [one.path for one in layout.columns] == [("a",), ("b", "c"), ("d",)]
    assert entries[1] is batch["b", "c"]


def test_a_batch_of_other_batches_has_the_same_entries():
    layout = layout_of(ROW, 10, 1)
    lazy = TensorDict.lazy_stack([ROW, ROW])
    assert [one.shape for one in entries_of(layout, lazy, (2,))] == [
        (2, 2, 3, 4),
        (2, 2, 3),
        (2, 2, 3, 0),
    ]


def test_a_row_without_entries_is_none():
    with pytest.raises(RowsMismatch, match="without entries"):
        layout_of(TensorDict({}, []), 10, 1)


def test_keys_are_named_as_users_write_them():
    assert [name_of(path) for path in [(), ("a",), ("a", "b")]] == ["the row", "'a'", "('a', 'b')"]
