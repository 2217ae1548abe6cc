"""What writing and sampling rows costs in the reference's storage, beside its peers on the same rows.

Writes `reports/bench/storage.json`, in the form of `tools.bench_pool`. The plain ring of numpy lies in
memory of its own process, which the kernel may give in huge pages; the same ring in shared memory, which
mostly comes in small ones, shows what of the difference that is.

    python -m tools.bench_storage [part of a row's name ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch

from tools import bench_storage_sides as sides
from tools.bench_pool import run
from tools.bench_rows import Row
from tools.bench_sides import Side

PICTURES = sides.Work(shape=(84, 84, 4), dtype=torch.uint8, batch=64, capacity=4000)
NUMBERS = sides.Work(shape=(4,), dtype=torch.float32, batch=64, capacity=50_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """Our side of some work, to be compared with others in writing and in sampling."""

    name: str
    work: sides.Work
    ours: Callable[[sides.Work], Side]

    def to(
        self,
        peer_name: str,
        peer: Callable[[sides.Work], Side] | None,
        bounds: tuple[float | None, float | None],
        wants: Literal["at most", "at least", "at most us"],
    ) -> list[Row]:
        return [
            Row(
                name=f"{what}, {self.name}" + (f", to {peer_name}" if peer else ""),
                ours=partial(self.ours, replace(self.work, sample=sample)),
                peer=partial(peer, replace(self.work, sample=sample)) if peer else None,
                bound=bound,
                wants=wants,
                warm=5,
            )
            for what, sample, bound in (("extend", False, bounds[0]), ("sample", True, bounds[1]))
        ]


def all_rows() -> list[Row]:
    """Return all comparisons."""
    rows = []
    for batch in (64, 1000):
        work, name = replace(PICTURES, batch=batch), f"84x84x4, batch of {batch}"
        own = _Pairs(name=name, work=work, ours=sides.ours)
        rows += own.to("numpy", sides.numpy_ring, (1.2, 1.3), "at most")
        rows += own.to("numpy in shared memory", sides.numpy_ring_shared, (None, None), "at most")
        rows += own.to("SB3", sides.sb3, (1.3, 1.4), "at least")
        rows += own.to("torchrl", sides.torchrl, (8.0, 8.0), "at least")
        buffer = _Pairs(name=f"{name}, through ReplayBuffer", work=work, ours=sides.our_buffer)
        rows += buffer.to("torchrl in memory", sides.torchrl_buffer, (4.0, 4.0), "at least")
        rows += buffer.to("torchrl in maps", sides.torchrl_memmap_buffer, (4.0, 4.0), "at least")
        reused = _Pairs(name=f"{name}, written over", work=work, ours=sides.ours_reused)
        rows += reused.to("numpy", sides.numpy_ring, (1.2, 1.3), "at most")[1:]
    name = "4 floats, batch of 64"
    own = _Pairs(name=name, work=NUMBERS, ours=sides.ours)
    rows += own.to("", None, (100.0, 100.0), "at most us")
    rows += own.to("torchrl", sides.torchrl, (8.0, 3.5), "at least")
    buffer = _Pairs(name=f"{name}, through ReplayBuffer", work=NUMBERS, ours=sides.our_buffer)
    rows += buffer.to("torchrl in memory", sides.torchrl_buffer, (8.0, 3.5), "at least")
    return [*rows, *_several_processes()]


def _several_processes() -> list[Row]:
    writers = partial(sides.our_writers, PICTURES)
    beside = partial(sides.writer_beside_a_reader, PICTURES)
    name = "a writer beside a reader at full speed"
    return [
        Row(
            name="two writer processes, to two bare numpy writers",
            ours=writers,
            peer=partial(sides.numpy_writers, PICTURES),
            bound=0.85,
            wants="at least",
        ),
        Row(
            name="two writer processes, to torchrl's shared buffer",
            ours=writers,
            peer=partial(sides.torchrl_writers, PICTURES),
            bound=8.0,
            wants="at least",
        ),
        Row(
            name=f"{name}, to one alone",
            ours=partial(beside, own=False),
            peer=partial(sides.ours, PICTURES),
            bound=1.3,
            wants="at most",
        ),
        Row(
            name=f"{name}, to one beside a reader of other rows",
            ours=partial(beside, own=False),
            peer=partial(beside, own=True),
            bound=1.3,
            wants="at most",
        ),
    ]


if __name__ == "__main__":
    sys.exit(run(all_rows(), sys.argv[1:], "storage"))
