"""What a send of the reference's weights costs, beside a copy of them in memory and torchrl's schemes.

The sides of a row alternate in one run. Writes `reports/bench/weights.json`, a list of rows as
`tools.bench_pool` writes them, in ms unless a row says otherwise; `ours_p90` and `peer_p90` beside, and
the least that either side took (`ours_min`, `peer_min`, `ratio_min`): what a machine gives that nobody
else uses, where the medians are others' load.

    python -m tools.bench_weights [part of a row's name ...]
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from harness.ports.clock import now_ns
from tools import bench_models as models
from tools.bench_senders import (
    BareFlip,
    Forwards,
    Memcpy,
    Ours,
    OursInLoop,
    Side,
    TorchRL,
    sends_by_cpu,
)

BLOCKS = 9
SENDS = 7  # a block
WARM = 5
MODELS: dict[str, Callable[[], nn.Module]] = {
    "8M floats": models.large,
    "130 tensors": partial(models.many, 130),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison.

    Attributes:
        name: what is measured, against what.
        ours: makes our side.
        peer: makes the other.
        bound: how much slower we may be ("at most"), or have to be faster ("at least").
        wants: which of the two.
        plus: makes what is added to the other's time before the comparison: a forward.
        p90: whether the 90th percentile is compared, not the median.
    """

    name: str
    ours: Callable[[], Side]
    peer: Callable[[], Side]
    bound: float
    wants: Literal["at most", "at least"]
    plus: Callable[[], Side] | None = None
    p90: bool = False


def _rows() -> list[Row]:
    rows: list[Row] = []
    for label, make in MODELS.items():
        memcpy = partial(Memcpy, make)
        rows += [
            Row(
                name=f"shared memory, idle workers, {label}, to one memcpy",
                ours=partial(Ours, "shared", make),
                peer=memcpy,
                bound=1.3,
                wants="at most",
            ),
            Row(
                name=f"shared memory, idle workers, {label}, to a bare copy and flip",
                ours=partial(Ours, "shared", make),
                peer=partial(BareFlip, make),
                bound=1.3,
                wants="at most",
            ),
            Row(
                name=f"private copy, idle workers, {label}, to one memcpy",
                ours=partial(Ours, "copy", make),
                peer=memcpy,
                bound=3.0,
                wants="at most",
            ),
            Row(
                name=f"private copy, idle workers, {label}, to torchrl with consolidated copies",
                ours=partial(Ours, "copy", make),
                peer=partial(TorchRL, make),
                bound=7.0,
                wants="at least",
            ),
        ]
        rows += [
            Row(
                name=f"shared memory, workers in a forward loop, {label}, to memcpy + a forward{tail}",
                ours=partial(OursInLoop, "shared", make),
                peer=memcpy,
                bound=bound,
                wants="at most",
                plus=partial(Forwards, make),
                p90=p90,
            )
            for tail, bound, p90 in (("", 2.5, False), (", p90", 4.0, True))
        ]
    rows += [
        Row(
            name=f"{words}, 1,300 tensors, to 130 of the same size",
            ours=partial(Ours, scheme, partial(models.many, 1300)),
            peer=partial(Ours, scheme, partial(models.many, 130)),
            bound=1.5,
            wants="at most",
        )
        for scheme, words in (("shared", "shared memory"), ("copy", "private copy"))
    ]
    return rows


def _measure(row: Row) -> dict[str, object]:
    makers = [row.ours, row.peer, *([row.plus] if row.plus else [])]
    sides: list[Side] = []
    try:
        for make in makers:
            sides.append(make())  # noqa: PERF401 - what was made is closed, whatever the next one raises
        took: list[list[list[float]]] = [[] for _ in sides]
        for side in sides:
            _block(side, WARM)
        for _ in range(BLOCKS):
            for side, found in zip(sides, took, strict=True):
                found.append(_block(side, SENDS))
    finally:
        for side in sides:
            side.close()
        gc.collect()
    return _row(row, took)


def _row(row: Row, took: list[list[list[float]]]) -> dict[str, object]:
    middle = [statistics.median(statistics.median(block) for block in side) for side in took]
    late = [_p90(side) for side in took]
    mine = late[0] if row.p90 else middle[0]
    other = middle[1]
    plus = middle[2] if row.plus else 0.0
    allowed = row.bound * other + plus
    ratio = (mine - plus) / other if row.wants == "at most" else other / mine
    least = [min(min(block) for block in side) for side in took]
    least[0] -= min(min(block) for block in took[2]) if row.plus else 0.0
    best = least[0] / least[1] if row.wants == "at most" else least[1] / least[0]
    return {
        "name": row.name,
        "ours": round(middle[0], 3),
        "peer": round(other, 3),
        "ours_p90": round(late[0], 3),
        "peer_p90": round(late[1], 3),
        "ours_min": round(least[0], 3),
        "peer_min": round(least[1], 3),
        "ratio_min": round(best, 2),
        **({"plus": round(plus, 3)} if row.plus else {}),
        "ratio": round(ratio, 2),
        "bound": row.bound,
        "wants": row.wants,
        "holds": mine <= allowed if row.wants == "at most" else ratio >= row.bound,
        "load": round(os.getloadavg()[0], 1),
    }


def _block(side: Side, count: int) -> list[float]:
    """So many sends, in ms each."""
    took = []
    for _ in range(count):
        side.rest()
        begun = now_ns()
        side.send()
        took.append((now_ns() - begun) / 1e6)
    return took


def _p90(blocks: Sequence[Sequence[float]]) -> float:
    every = sorted(send for block in blocks for send in block)
    return every[int(0.9 * (len(every) - 1))]


def _flat_in_workers() -> dict[str, object]:
    one, eight = (sends_by_cpu(Ours("copy", models.large, workers)) for workers in (1, 8))
    return _plain("private copy, the sender's CPU time for 8 workers, to 1", eight, one, 1.2)


def _by_cpu(label: str, make: Callable[[], nn.Module]) -> dict[str, object]:
    """What no load of others' changes: the sender's own work, which is all but the switch of two workers."""
    ours, memcpy = sends_by_cpu(Ours("shared", make)), sends_by_cpu(Memcpy(make))
    return _plain(
        f"shared memory, the sender's CPU time, {label}, to one memcpy", ours, memcpy, 1.3
    )


def _flat_in_sends() -> dict[str, object]:
    before, after = models.memory_over_sends(1000)
    return _plain(
        "memory of all processes after 1,000 sends, to after 20, in MB", after, before, 1.02
    )


def _forward_alone() -> dict[str, object]:
    with_lock, without = models.forward_alone()
    found = _plain(
        "a forward, nobody updating, to one of the bare model, in us", with_lock, without, 2.0
    )
    extra = with_lock - without
    return {**found, "ratio": round(extra, 2), "wants": "at most, more", "holds": extra <= 2.0}


def _plain(name: str, ours: float, peer: float, bound: float) -> dict[str, object]:
    return {
        "name": name,
        "ours": round(ours, 3),
        "peer": round(peer, 3),
        "ratio": round(ours / peer, 2),
        "bound": bound,
        "wants": "at most",
        "holds": ours / peer <= bound,
        "load": round(os.getloadavg()[0], 1),
    }


def main(parts: Sequence[str]) -> int:
    """Measure, write, print."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    multiprocessing.set_start_method("fork", force=True)  # torchrl's import made it spawn
    measures: list[tuple[str, Callable[[], dict[str, object]]]] = [
        *((row.name, partial(_measure, row)) for row in _rows()),
        ("private copy, the sender's CPU time", _flat_in_workers),
        *(
            (f"shared memory, the sender's CPU time, {label}", partial(_by_cpu, label, make))
            for label, make in MODELS.items()
        ),
        ("memory of all processes", _flat_in_sends),
        ("a forward, nobody updating", _forward_alone),
    ]
    rows = []
    for name, measure in measures:
        if parts and not any(part in name for part in parts):
            continue
        rows.append(found := measure())
        print(
            f"{found['name']}: {found['ours']} against {found['peer']}, "
            f"{found['ratio']} ({found['wants']} {found['bound']}: {found['holds']}); "
            f"at best {found.get('ratio_min', found['ratio'])}",
            flush=True,
        )
    out = Path("reports/bench")
    out.mkdir(parents=True, exist_ok=True)
    (out / "weights.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
