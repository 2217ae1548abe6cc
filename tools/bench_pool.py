"""What a step of the reference's pool costs, beside its peers on the same envs.

The sides of a row alternate in blocks in one run. Writes `reports/bench/pool.json`, a list of rows:
`name`, `ours` and `peer` (medians over blocks of the median of a block, in us), their `p99`s, `ratio`
(ours to peer where the bound is "at most", peer to ours where it is "at least", and what we take, in us,
where it is "at most us"), `bound`, `holds`, and the machine's load, since a loaded one stretches each
side differently.

    python -m tools.bench_pool [part of a row's name ...]
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from harness.ports.clock import now_ns
from tools.bench_rows import Row, all_rows
from tools.bench_sides import Side

BLOCK_S = 0.15  # roughly; at least three steps


def _measure(row: Row) -> dict[str, object]:
    before = os.sched_getaffinity(0)
    if row.one_cpu:
        os.sched_setaffinity(0, {min(before)})
    sides: list[Side] = []
    try:
        sides += [make() for make in (row.ours, row.peer) if make is not None]
        blocks: list[list[list[float]]] = [[] for _ in sides]
        for side in sides:
            _block(side, row.warm, 0.0)
        for _ in range(row.blocks):
            for side, found in zip(sides, blocks, strict=True):
                found.append(_block(side, min(3, row.warm), BLOCK_S))
    finally:
        for side in sides:
            side.close()
        os.sched_setaffinity(0, before)
        gc.collect()
    medians = [statistics.median(statistics.median(b) for b in found) for found in blocks]
    tails = [_p99(found) for found in blocks]
    ratio = row.ratio(*medians)
    return {
        "name": row.name,
        "ours": round(medians[0], 1),
        "peer": round(medians[1], 1) if row.peer else None,
        "ours_p99": round(tails[0], 1),
        "peer_p99": round(tails[1], 1) if row.peer else None,
        "ratio": round(ratio, 2),
        "bound": row.bound,
        "wants": row.wants,
        "holds": row.holds(ratio),
        "load": round(os.getloadavg()[0], 1),
    }


def _block(side: Side, least: int, seconds: float) -> list[float]:
    """At least so many steps, and then until the time is over; in us each."""
    took: list[float] = []
    end = now_ns() + seconds * 1e9
    while len(took) < least or (now_ns() < end and seconds):
        begun = now_ns()
        told = side.step()  # of a whole process only a part counts, which it tells
        took.append(told if isinstance(told, float) else (now_ns() - begun) / 1e3)
    return took


def _p99(blocks: Sequence[Sequence[float]]) -> float:
    every = sorted(step for block in blocks for step in block)
    return every[int(0.99 * (len(every) - 1))]


def run(all_of_them: Sequence[Row], parts: Sequence[str], name: str) -> int:
    """Measure those rows whose name has one of the parts, write them under this name, and print."""
    torch.set_num_threads(1)
    multiprocessing.set_start_method("fork", force=True)  # torchrl's import made it spawn
    rows = []
    for row in all_of_them:
        if parts and not any(part in row.name for part in parts):
            continue
        rows.append(found := _measure(row))
        beside = f" against {found['peer']} us" if row.peer else ""
        print(
            f"{found['name']}: {found['ours']} us{beside}, "
            f"{found['ratio']} ({found['wants']} {found['bound']}: {found['holds']})",
            flush=True,
        )
    out = Path("reports/bench")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(run(all_rows(), sys.argv[1:], "pool"))
