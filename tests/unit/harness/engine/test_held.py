"""Batches that are held without copying tell when they change."""

from __future__ import annotations

import numpy as np
import torch

from harness.engine.held import BYTES_MAX, HELD_MAX, Held
from harness.ports.pool import Batch


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
