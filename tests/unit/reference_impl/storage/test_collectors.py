"""Workers of torchrl's collectors write to the storage: the layout is theirs, and no row is made up."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import GymEnv, SerialEnv

from reference_impl.storage import SharedStorage, SharedTensorDictReplayBuffer

CART_POLE = partial(GymEnv, "CartPole-v1")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torchrl and gymnasium, on what this does not depend on
@pytest.mark.parametrize(("ndim", "shape"), [(1, (100, 2)), (2, (25, 4))])
def test_workers_lay_out_the_storage_by_their_own_time_length(ndim, shape):
    """Four envs a worker, two steps a batch."""
    buffer = SharedTensorDictReplayBuffer(storage=SharedStorage(100, ndim=ndim), batch_size=4)
    collector = MultiSyncCollector(
        [partial(SerialEnv, 4, CART_POLE)] * 2,
        None,
        frames_per_batch=16,
        total_frames=48,
        replay_buffer=buffer,
    )
    for _ in collector:
        pass
    collector.shutdown()
    assert buffer.storage._storage.shape == shape
    stored = buffer.storage[:]
    assert stored.numel() == 48
    assert bool((stored["observation"].abs().sum(-1) > 0).all())
    assert torch.equal(
        stored["next", "done"], stored["next", "terminated"] | stored["next", "truncated"]
    )
