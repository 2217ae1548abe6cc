"""torchrl's prioritized samplers, where its compiled part cannot be loaded, over trees of our own."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest
import torch
from torchrl.data.replay_buffers.samplers import prioritized

# torchrl's own storages have counters of multiprocessing, whose memory a process never gives back.
COUNTER = multiprocessing.Value("q", 0)


class Sums:
    """A sum of priorities over ranges; slow, with the interface of the compiled one."""

    empty = 0.0
    reduce: Any = staticmethod(torch.sum)

    def __init__(self, size: int) -> None:
        self.values = torch.full((size,), self.empty, dtype=torch.float64)

    def query(self, left: int, right: int) -> float:
        return float(self.reduce(self.values[left:right]))

    def scan_lower_bound(self, mass) -> torch.Tensor:
        sums = self.values.cumsum(0)
        return torch.searchsorted(sums, torch.as_tensor(mass, dtype=torch.float64))

    def __getitem__(self, index) -> torch.Tensor:
        return self.values[index]

    def __setitem__(self, index, value) -> None:
        self.values[index] = torch.as_tensor(value, dtype=torch.float64)


class Least(Sums):
    empty = float("inf")
    reduce = staticmethod(torch.min)


@pytest.fixture
def prioritized_samplers(monkeypatch):
    """Make `PrioritizedSampler` work everywhere."""
    if prioritized.SumSegmentTreeFp32 is None:
        for bits in ("32", "64"):
            monkeypatch.setattr(prioritized, f"SumSegmentTreeFp{bits}", Sums)
            monkeypatch.setattr(prioritized, f"MinSegmentTreeFp{bits}", Least)
