"""An arena is memory that processes share and nothing else."""

from __future__ import annotations

import os
from functools import partial

import pytest
import torch

from reference_impl.core.arena import Arena
from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from tests.patience import PATIENCE_S


@pytest.fixture
def arena():
    made = Arena()
    yield made
    made.release()


def fill_with(arena: Arena, value: int) -> None:
    arena.map().fill_(value)


@pytest.mark.parametrize(
    "start_method", ["fork", pytest.param("forkserver", marks=pytest.mark.slow)]
)
def test_what_another_process_writes_is_seen(arena, start_method):
    arena.resize(64)
    process = start_process(partial(fill_with, arena, 7), (), name="w", start_method=start_method)
    assert process.join(Deadline.after(PATIENCE_S))
    process.release()
    assert arena.map().tolist() == [7] * 64


def test_it_gets_its_size_after_its_descriptor_has_travelled(arena):
    copy = Arena(os.dup(arena._fd))
    arena.resize(16)
    copy.map().fill_(3)
    copy.release()
    assert arena.map().sum().item() == 48


def test_it_begins_as_zeros(arena):
    arena.resize(1 << 16)
    assert not arena.map().any()


def test_what_is_mapped_outlives_the_descriptor(arena):
    arena.resize(8)
    memory = arena.map()
    arena.release()
    arena.release()
    assert torch.equal(memory.fill_(1), torch.ones(8, dtype=torch.uint8))
