"""What a step of the reference's pool costs, beside its peers on the same envs.

The sides of a row alternate in blocks in one run. Writes `reports/bench/pool.json`, a list of rows:
`name`, `ours` and `peer` (medians over blocks of the median of a block, in us), their `p99`s, `ratio`
(ours to peer where the bound is "at most", peer to ours where it is "at least"), `bound`, `holds`, and
the machine's load, since a loaded one stretches each side differently.

    python -m tools.bench_pool [part of a row's name ...]
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import torch

from harness.ports.clock import now_ns
from tools import bench_envs as envs
from tools.bench_sides import BareLoop, GymnasiumSide, Lives, Side, ours, ours_by_half, torchrl

BLOCKS = 9
BLOCK_S = 0.15  # roughly; at least three steps
WARM = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison.

    Attributes:
        name: what is measured, against what.
        ours: makes our side.
        peer: makes the other.
        bound: how much slower we may be ("at most"), or have to be faster ("at least").
        wants: which of the two.
        one_cpu: whether all processes share one CPU.
        warm: steps that are not counted, before the first block.
    """

    name: str
    ours: Callable[[], Side]
    peer: Callable[[], Side]
    bound: float
    wants: Literal["at most", "at least"]
    one_cpu: bool = False
    warm: int = WARM


def _rows() -> list[Row]:
    rows = []
    for num, gymnasium_bound in ((4, 1.8), (16, 3.0)):
        numbers = [envs.Numbers] * num
        for one_cpu in (False, True):
            where = "one CPU" if one_cpu else "all CPUs"
            rows += [
                Row(
                    name=f"step, {num} numpy envs, {where}, to the bare loop",
                    ours=partial(ours, numbers),
                    peer=partial(BareLoop, numbers),
                    bound=1.3,
                    wants="at most",
                    one_cpu=one_cpu,
                ),
                Row(
                    name=f"step, {num} numpy envs, {where}, to gymnasium",
                    ours=partial(ours, numbers),
                    peer=partial(GymnasiumSide, numbers),
                    bound=gymnasium_bound,
                    wants="at least",
                    one_cpu=one_cpu,
                ),
            ]
    rows += [_native(num) for num in (4, 16)]
    return [*rows, *_others()]


def _native(num: int) -> Row:
    return Row(
        name=f"step, {num} native envs, to torchrl shm",
        ours=partial(ours, [envs.Native] * num),
        peer=partial(torchrl, [envs.Native] * num, "shm"),
        bound=7.0,
        wants="at least",
    )


def _others() -> list[Row]:
    pictures = [envs.Pictures] * 8
    uneven = [partial(envs.Numbers, 0.004 * i / 15) for i in range(16)]
    waiting = [partial(envs.Numbers, 0.001)] * 8
    return [
        Row(
            name="step, 16 native envs by value, to torchrl queue",
            ours=partial(ours, [envs.Native] * 16, exchange="queue"),
            peer=partial(torchrl, [envs.Native] * 16, "queue"),
            bound=30.0,
            wants="at least",
        ),
        Row(
            name="step, 8 envs of pictures 84x84x4, owned, to gymnasium",
            ours=partial(ours, pictures),
            peer=partial(GymnasiumSide, pictures),
            bound=3.0,
            wants="at least",
        ),
        Row(
            name="step, 8 envs that wait 1 ms, to gymnasium",
            ours=partial(ours, waiting),
            peer=partial(GymnasiumSide, waiting),
            bound=1.4,
            wants="at least",
        ),
        Row(
            name="start, first reset and close, 16 numpy envs, fork, to gymnasium",
            ours=lambda: Lives(partial(ours, [envs.Numbers] * 16)),
            peer=lambda: Lives(partial(GymnasiumSide, [envs.Numbers] * 16)),
            bound=1.1,
            wants="at most",
            warm=1,
        ),
        Row(
            name="half batches of 16 envs of 0 to 4 ms, to full batches",
            ours=partial(ours_by_half, uneven),
            peer=partial(ours, uneven),
            bound=1.2,
            wants="at least",
        ),
    ]


def _measure(row: Row) -> dict[str, object]:
    before = os.sched_getaffinity(0)
    if row.one_cpu:
        os.sched_setaffinity(0, {min(before)})
    sides: list[Side] = []
    try:
        sides.append(row.ours())
        sides.append(row.peer())
        blocks: list[list[list[float]]] = [[], []]
        for side in sides:
            _block(side, row.warm, 0.0)
        for _ in range(BLOCKS):
            for side, found in zip(sides, blocks, strict=True):
                found.append(_block(side, min(3, row.warm), BLOCK_S))
    finally:
        for side in sides:
            side.close()
        os.sched_setaffinity(0, before)
        gc.collect()
    mine, other = (statistics.median(statistics.median(b) for b in found) for found in blocks)
    ratio = mine / other if row.wants == "at most" else other / mine
    return {
        "name": row.name,
        "ours": round(mine, 1),
        "peer": round(other, 1),
        "ours_p99": round(_p99(blocks[0]), 1),
        "peer_p99": round(_p99(blocks[1]), 1),
        "ratio": round(ratio, 2),
        "bound": row.bound,
        "wants": row.wants,
        "holds": ratio <= row.bound if row.wants == "at most" else ratio >= row.bound,
        "load": round(os.getloadavg()[0], 1),
    }


def _block(side: Side, least: int, seconds: float) -> list[float]:
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
    (out / "pool.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
