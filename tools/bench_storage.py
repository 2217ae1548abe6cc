"""What writing and sampling rows costs in the reference's storage, beside its peers on the same rows.

The sides of a row alternate in blocks in one run. Writes `reports/bench/storage.json`, a list of rows
of the form that `tools.bench_pool` writes; where the bound is "at most us above", `ratio` is the
difference of the two in us.

    python -m tools.bench_storage [part of a row's name ...]
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import torch

from harness.ports.clock import now_ns
from tools import bench_storage_sides as sides

BLOCKS = 9
BLOCK_S = 0.1  # roughly; at least three steps
WARM = 5

Wants = Literal["at most", "at least", "at most us above"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison.

    Attributes:
        name: what is measured, against what.
        ours: makes our side.
        peer: makes the other.
        bound: how much slower we may be ("at most", "at most us above"), or have to be faster.
        wants: which of these.
    """

    name: str
    ours: Callable[[], sides.Side]
    peer: Callable[[], sides.Side]
    bound: float
    wants: Wants


PICTURES = sides.Work(shape=(84, 84, 4), dtype=torch.uint8, batch=64, capacity=4000)
NUMBERS = sides.Work(shape=(4,), dtype=torch.float32, batch=64, capacity=50_000)


def _rows() -> list[Row]:
    rows = []
    for batch in (64, 1000):
        work, name = replace(PICTURES, batch=batch), f"84x84x4, batch of {batch}"
        own = _Pairs(name=name, work=work, ours=sides.ours)
        rows += own.to("numpy", sides.numpy_ring, (1.2, 1.3), "at most")
        rows += own.to("SB3", sides.sb3, (1.3, 1.4), "at least")
        rows += own.to("torchrl", sides.torchrl, (8.0, 8.0), "at least")
        buffer = _Pairs(name=f"{name}, through ReplayBuffer", work=work, ours=sides.our_buffer)
        rows += buffer.to("torchrl in memory", sides.torchrl_buffer, (4.0, 4.0), "at least")
        rows += buffer.to("torchrl in maps", sides.torchrl_memmap_buffer, (4.0, 4.0), "at least")
        reused = _Pairs(name=f"{name}, samples reused", work=work, ours=sides.ours_reused)
        rows += reused.to("numpy", sides.numpy_ring, (1.2, 1.3), "at most")[1:]
    name = "4 floats, batch of 64"
    own = _Pairs(name=name, work=NUMBERS, ours=sides.ours)
    rows += own.to("numpy", sides.numpy_ring, (100.0, 100.0), "at most us above")
    rows += own.to("torchrl", sides.torchrl, (8.0, 3.5), "at least")
    buffer = _Pairs(name=f"{name}, through ReplayBuffer", work=NUMBERS, ours=sides.our_buffer)
    rows += buffer.to("torchrl in memory", sides.torchrl_buffer, (8.0, 3.5), "at least")
    return [*rows, *_others()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """Our side of some work, to be compared with several others in writing and sampling."""

    name: str
    work: sides.Work
    ours: Callable[[sides.Work], sides.Side]

    def to(
        self,
        peer_name: str,
        peer: Callable[[sides.Work], sides.Side],
        bounds: tuple[float, float],
        wants: Wants,
    ) -> list[Row]:
        return [
            Row(
                name=f"{what}, {self.name}, to {peer_name}",
                ours=partial(self.ours, replace(self.work, sample=sample)),
                peer=partial(peer, replace(self.work, sample=sample)),
                bound=bound,
                wants=wants,
            )
            for what, sample, bound in (("extend", False, bounds[0]), ("sample", True, bounds[1]))
        ]


def _others() -> list[Row]:
    beside = partial(sides.writer_beside_a_reader, PICTURES)
    same, other = partial(beside, own=False), partial(beside, own=True)
    return [
        Row(
            name="two writer processes, to two bare numpy writers",
            ours=partial(sides.our_writers, PICTURES),
            peer=partial(sides.numpy_writers, PICTURES),
            bound=0.85,
            wants="at least",
        ),
        Row(
            name="two writer processes, to torchrl's shared buffer",
            ours=partial(sides.our_writers, PICTURES),
            peer=partial(sides.torchrl_writers, PICTURES),
            bound=8.0,
            wants="at least",
        ),
        Row(
            name="a writer beside a reader at full speed, to one alone",
            ours=same,
            peer=partial(sides.ours, PICTURES),
            bound=1.3,
            wants="at most",
        ),
        Row(
            name="a writer beside a reader at full speed, to one beside a reader of other rows",
            ours=same,
            peer=other,
            bound=1.3,
            wants="at most",
        ),
    ]


def _measure(row: Row) -> dict[str, object]:
    made: list[sides.Side] = []
    try:
        made.append(row.ours())
        made.append(row.peer())
        blocks: list[list[list[float]]] = [[], []]
        for side in made:
            _block(side, WARM, 0.0)
        for _ in range(BLOCKS):
            for side, found in zip(made, blocks, strict=True):
                found.append(_block(side, 3, BLOCK_S))
    finally:
        for side in made:
            side.close()
        made.clear()
        gc.collect()
    mine, other = (statistics.median(statistics.median(b) for b in found) for found in blocks)
    ratio = {"at most": mine / other, "at least": other / mine, "at most us above": mine - other}
    found = round(ratio[row.wants], 2)
    return {
        "name": row.name,
        "ours": round(mine, 1),
        "peer": round(other, 1),
        "ours_p99": round(_p99(blocks[0]), 1),
        "peer_p99": round(_p99(blocks[1]), 1),
        "ratio": found,
        "bound": row.bound,
        "wants": row.wants,
        "holds": found >= row.bound if row.wants == "at least" else found <= row.bound,
        "load": round(os.getloadavg()[0], 1),
    }


def _block(side: sides.Side, least: int, seconds: float) -> list[float]:
    """At least so many steps, and then until the time is over; in us each."""
    took: list[float] = []
    end = now_ns() + seconds * 1e9
    while len(took) < least or (now_ns() < end and seconds):
        begun = now_ns()
        side.step()
        took.append((now_ns() - begun) / 1e3)
    return took


def _p99(blocks: Sequence[Sequence[float]]) -> float:
    every = sorted(step for block in blocks for step in block)
    return every[int(0.99 * (len(every) - 1))]


def main(parts: Sequence[str]) -> int:
    """Measure, write, print."""
    torch.set_num_threads(1)
    multiprocessing.set_start_method("fork", force=True)  # torchrl's import made it spawn
    rows = []
    for row in _rows():
        if parts and not any(part in row.name for part in parts):
            continue
        rows.append(found := _measure(row))
        print(
            f"{found['name']}: {found['ours']} us against {found['peer']} us, "
            f"{found['ratio']} ({found['wants']} {found['bound']}: {found['holds']})",
            flush=True,
        )
    out = Path("reports/bench")
    out.mkdir(parents=True, exist_ok=True)
    (out / "storage.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
