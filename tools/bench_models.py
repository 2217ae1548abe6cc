"""Models that the benches of weights send, and what is measured of one process alone."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import torch
from torch import nn

from harness.ports.clock import now_ns
from reference_impl.weights import PolicyWorkers, SharedMemWeightSyncScheme
from reference_impl.weights.target import Target

LARGE = 8_400_000  # floats: 33.6 MB
MANY = 4_250_000  # floats: 17 MB, in however many tensors


class Large(nn.Module):
    """Two parameters, all of whose elements are read in a forward."""

    def __init__(self) -> None:
        super().__init__()
        self.large = nn.Parameter(torch.zeros(LARGE), requires_grad=False)
        self.small = nn.Parameter(torch.zeros(3), requires_grad=False)

    def forward(self, _observation: object) -> float:
        """Read them."""
        return float(self.large.sum() + self.small.sum())


class Many(nn.Module):
    """Layers with a weight and a bias each, all of whose elements are read in a forward."""

    def __init__(self, tensors: int) -> None:
        super().__init__()
        width = MANY // (tensors // 2) - 8
        self.layers = nn.ModuleList(nn.Linear(width // 8, 8) for _ in range(tensors // 2))
        self.requires_grad_(requires_grad=False)

    def forward(self, _observation: object) -> float:
        """Read them."""
        return float(sum(parameter.sum() for parameter in self.parameters()))


def large() -> nn.Module:
    """33.6 MB in two tensors."""
    return Large()


def many(tensors: int) -> nn.Module:
    """17 MB in so many tensors."""
    return Many(tensors)


def forward_alone(times: int = 20_000) -> tuple[float, float]:
    """Us of a small forward under a target's lock, and of the same without; by turns."""
    locked, bare = nn.Identity(), nn.Identity()
    target = Target(locked)
    took: list[list[float]] = [[], []]
    for _ in range(9):
        for model, found in zip((locked, bare), took, strict=True):
            begun = now_ns()
            for _ in range(times // 9):
                model(None)
            found.append((now_ns() - begun) / (times // 9) / 1e3)
    del target
    return statistics.median(took[0]), statistics.median(took[1])


def memory_over_sends(sends: int) -> tuple[float, float]:
    """MB that trainer and workers hold after 20 sends, and after so many more."""
    trainer = many(130)
    scheme = SharedMemWeightSyncScheme()
    scheme.init_on_sender(model=trainer, num_workers=2)
    with PolicyWorkers(lambda: many(130), 2, scheme=scheme, start_method="fork") as workers:
        found = []
        for count in (20, sends):
            for _ in range(count):
                scheme.send()
                workers.forward()
            found.append(sum(_held(pid) for pid in (os.getpid(), *workers.worker_pids)))
    return found[0], found[1]


def _held(pid: int) -> float:
    """MB of a process, and its share of what it has with others: not of files, which strangers map, too."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    counted = (line.split()[1] for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return sum(int(kilobytes) for kilobytes in counted) / 1024
