"""Rows of a pool are found wherever its envs lie, and written to where they are read."""

from __future__ import annotations

import numpy as np
import torch
from tensordict import TensorDict, lazy_stack

from harness.adapters.tensordict_rows import layout_of


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)


def test_a_child_of_three_envs_has_three_rows():
    td = TensorDict({"observation": numbers(2, 3, 8)}, batch_size=[2, 3])
    rows = layout_of("batched").observations(td)
    assert [row[0] for row in rows] == [0, 8, 16, 24, 32, 40]
    assert layout_of("batched").envs([1, 0]) == [3, 4, 5, 0, 1, 2]


def test_groups_take_turns():
    group = {"left": {"x": numbers(2, 1)}, "right": {"x": numbers(2, 1) + 10}}
    td = TensorDict(group, batch_size=[2])
    assert layout_of("grouped").column(td, "x").tolist() == [0, 10, 1, 11]


def test_groups_are_written_to_where_they_are_read():
    layout = layout_of("grouped")
    td = TensorDict({}, batch_size=[2])
    layout.act(td, np.arange(4, dtype=np.float32))
    assert layout.column(td, "action").tolist() == [0, 1, 2, 3]
    assert td["right", "action"].tolist() == [[1], [3]]


def test_a_mask_shares_the_callers_memory():
    mask = np.array([True, False])
    td = TensorDict({}, batch_size=[2])
    layout_of("plain").mask(td, mask)
    td["_reset"][1] = True
    assert mask.tolist() == [True, True]


def test_rows_of_a_lazy_stack_may_differ_in_shape():
    parts = [TensorDict({"observation": numbers(n)}, batch_size=[]) for n in (2, 3)]
    rows = layout_of("differing").observations(lazy_stack(parts))
    assert [row.shape for row in rows] == [(2,), (3,)]


def test_a_nested_observation_is_a_mapping_a_row():
    nested = {"observation": {"a": numbers(2), "b": {"c": numbers(2, 4)}}}
    rows = layout_of("nested").observations(TensorDict(nested, batch_size=[2]))
    assert [row["a"].tolist() for row in rows] == [0, 1]
    assert rows[1]["b"]["c"].tolist() == [4, 5, 6, 7]


def test_a_key_that_is_not_there_is_seen_row_by_row():
    td = TensorDict({}, batch_size=[2])
    assert len(layout_of("plain").observations(td)) == 2
