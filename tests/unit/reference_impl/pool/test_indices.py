"""Entries that say which env a row belongs to, and who may write into them."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict

from reference_impl.pool.indices import ENV_INDEX, read_indices, stacked_index


def held(envs, batch_size=()):
    """A batch with its env_index."""
    batch = TensorDict(batch_size=[len(envs), *batch_size])
    batch.set(ENV_INDEX, stacked_index(envs, batch_size))
    return batch


@pytest.mark.parametrize("batch_size", [(), (2,)])
def test_indices_are_read_as_they_were_stacked(batch_size):
    assert read_indices(held([3, 0, 1], batch_size)) == [3, 0, 1]


def test_a_row_that_is_written_over_changes_in_its_own_batch_only():
    one, other = held([0, 1]), held([0, 1])
    one[0] = held([7])[0]
    assert read_indices(one) == [7, 1]
    assert read_indices(other) == [0, 1]
    assert read_indices(held([0, 1])) == [0, 1]


def test_a_batch_that_is_locked_locks_no_other():
    one, other = held([0, 1]), held([0, 1])
    one.lock_()
    assert not other.get(ENV_INDEX)[0].is_locked
    other.lock_()
    other.unlock_()
    assert one.is_locked


def test_an_index_has_the_batch_size_of_its_rows():
    assert stacked_index([0, 1], (3,)).batch_size == torch.Size([2, 3])


def test_data_without_indices_is_refused():
    with pytest.raises(KeyError, match="env_index"):
        read_indices(TensorDict(batch_size=[2]))
