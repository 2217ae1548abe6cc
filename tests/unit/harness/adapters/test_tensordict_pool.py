"""What was received at different times makes up the root that the next call goes on from."""

from __future__ import annotations

import torch
from tensordict import TensorDict, lazy_stack

from harness.adapters.tensordict_pool import STACKS, TensorDictPool


def child(width: int, value: float) -> TensorDict:
    return TensorDict({"observation": torch.full((width,), value)}, batch_size=[])


def test_children_whose_observations_have_different_shapes_are_put_together_again():
    pool = TensorDictPool.__new__(TensorDictPool)
    pool._children = 2
    pool._stack = STACKS["maybe_dense"]
    pool._root = lazy_stack([child(3, 0.0), child(4, 0.0)])
    pool._merge(lazy_stack([child(4, 1.0)]), [1])
    assert [row["observation"].tolist() for row in pool._root.unbind(0)] == [[0.0] * 3, [1.0] * 4]
