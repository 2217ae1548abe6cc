"""Batches that are held without copying tell when they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from harness.engine.held import BYTES_MAX, HELD_MAX, Held
from harness.ports.pool import Batch
from tests.backends.garbage import Mute, endless


def batch(observation, **more):
    return Batch(env_index=[0], observation=observation, **more)


def test_a_batch_that_nobody_writes_into_keeps_its_digest():
    held = Held()
    taken = held.take(batch(np.zeros((1, 8))))
    assert held.digests() == {str(taken["batch"]): taken["digest"]}


def test_a_write_into_any_column_changes_the_digest():
    reward = np.zeros(1)
    held = Held()
    taken = held.take(batch(np.zeros((1, 8)), reward=reward))
    reward[0] = 1.0
    assert held.digests()["1"] != taken["digest"]


def test_what_was_handed_out_counts_instead_of_columns_that_are_copies():
    tensor = torch.zeros(3)
    held = Held()
    taken = held.take(batch(np.zeros((1, 8)), handed=(tensor,)))
    tensor += 1.0
    assert held.digests()["1"] != taken["digest"]


def test_what_was_let_go_is_not_looked_at_any_more():
    held = Held()
    first, second = (held.take(batch(np.zeros((1, 8)))) for _ in range(2))
    held.let_go(first["batch"])
    assert held.digests() == {str(second["batch"]): second["digest"]}


def test_a_tensor_that_moves_into_shared_memory_has_not_changed():
    tensor = torch.ones(3)
    held = Held()
    taken = held.take(batch(np.zeros((1, 8)), handed=(tensor,)))
    tensor.share_memory_()
    assert held.digests()["1"] == taken["digest"]


class MovesWhileItIsRead:
    """Its memory is freed, and somebody else's, between the look that finds it and the read."""

    def __init__(self):
        self.places, self.moves = [np.ones(3)], False

    def __array__(self, dtype=None, copy=None):
        seen = self.places[-1]
        if self.moves:
            self.moves = False
            self.places.append(seen.copy())
            seen[:] = 7.0
        return seen


def test_a_tensor_that_moves_while_it_is_read_has_not_changed():
    tensor = MovesWhileItIsRead()
    held = Held()
    taken = held.take(batch(np.zeros((1, 8)), handed=(tensor,)))
    tensor.moves = True
    assert held.digests()["1"] == taken["digest"]


def test_both_ends_of_a_large_array_are_looked_at():
    for place in (0, -1):
        large = np.zeros(10 * BYTES_MAX, dtype=np.uint8)
        held = Held()
        taken = held.take(batch(large.reshape(1, -1)))
        large[place] = 1
        assert held.digests()["1"] != taken["digest"]


def test_only_the_last_batches_are_held():
    held = Held()
    for _ in range(HELD_MAX + 2):
        held.take(batch(np.zeros((1, 8))))
    assert list(held.digests()) == [str(number) for number in range(3, HELD_MAX + 3)]


def test_what_was_let_go_is_not_digested():
    held = Held()
    held.take(batch(np.zeros((1, 8))))
    held.clear()
    assert held.digests() == {}


def test_a_write_into_one_of_several_rows_of_unlike_shapes_changes_the_digest():
    rows = [np.zeros(3), np.zeros(4)]
    held = Held()
    taken = held.take(batch(rows))
    rows[1][3] = 1.0
    assert held.digests()["1"] != taken["digest"]


@pytest.mark.parametrize("form", [lambda leaf: {"a": {"b": leaf}}, lambda leaf: [(1, leaf)]])
def test_a_write_into_an_array_below_others_changes_the_digest(form):
    leaf = np.zeros(3)
    held = Held()
    taken = held.take(batch([form(leaf)]))
    leaf[0] = 1.0
    assert held.digests()["1"] != taken["digest"]


def test_another_object_in_the_place_of_one_changes_the_digest():
    rows = np.array([None, {"a": 1}], dtype=object)
    held = Held()
    taken = held.take(batch(rows))
    rows[0] = "somebody"
    assert held.digests()["1"] != taken["digest"]


LEAVES = st.sampled_from(
    [None, "x", b"x", 1.5, 10**40, float("nan"), object(), lambda: None, iter([1]), np.array("x")]
) | st.sampled_from([np.array([None, object()], dtype=object), np.zeros((0, 3)), np.zeros(2, "V3")])
GARBAGE: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(["a", 1, None]), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(garbage=GARBAGE, handed=st.booleans())
def test_whatever_is_handed_out_is_held_and_has_not_changed(garbage: Any, handed: bool):  # noqa: FBT001 - one fact
    held = Held()
    given = batch(None, handed=[garbage]) if handed else batch(garbage)
    taken = held.take(given)
    assert held.digests() == {"1": taken["digest"]}


@pytest.mark.parametrize("make", [Mute, lambda: Mute, endless], ids=["mute", "class", "endless"])
def test_what_raises_whatever_is_done_to_it_is_held_all_the_same(make: Callable[[], Any]):
    held = Held()
    taken = held.take(batch(None, handed=[make()]))
    assert held.digests() == {"1": taken["digest"]}
