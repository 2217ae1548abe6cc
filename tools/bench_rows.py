"""The comparisons that the bench of the pool makes, and what has to come of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from tools import bench_envs as envs
from tools.bench_lives import (
    ColdStart,
    CollectorSide,
    GymnasiumCalls,
    Lives,
    Switches,
    our_pool,
    torchrl_pool,
    torchrl_spawned,
)
from tools.bench_sides import BareLoop, GymnasiumSide, Side, leased, ours, ours_by_half, torchrl

BLOCKS: Final = 9
WARM: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison.

    Attributes:
        name: what is measured, against what.
        ours: makes our side.
        peer: makes the other, if there is one.
        bound: how much slower we may be ("at most"), or have to be faster ("at least"), or what we
            may take ("at most us"); None: it is only told.
        wants: which of these.
        one_cpu: whether all processes share one CPU.
        warm: steps that are not counted, before the first block.
        blocks: how many.
    """

    name: str
    ours: Callable[[], Side]
    bound: float | None
    wants: Literal["at most", "at least", "at most us"]
    peer: Callable[[], Side] | None = None
    one_cpu: bool = False
    warm: int = WARM
    blocks: int = BLOCKS

    def ratio(self, ours: float, peer: float = 1.0) -> float:
        """Return what the bound is about."""
        return peer / ours if self.wants == "at least" else ours / peer

    def holds(self, ratio: float) -> bool:
        """Return whether the bound holds."""
        if self.bound is None:
            return True
        return ratio >= self.bound if self.wants == "at least" else ratio <= self.bound


def all_rows() -> list[Row]:
    """Return all comparisons."""
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
    rows += _shared()
    rows += [row for num in (4, 16) for row in _leased(num)]
    rows += [_native(num) for num in (4, 16)]
    return [*rows, *_others(), *_lives(), *_switches()]


def _shared() -> list[Row]:
    numbers, name = [envs.Numbers] * 16, "step, 16 numpy envs, 8 a worker"
    side = partial(ours, numbers, envs_per_worker=8)
    return [
        Row(
            name=f"{name}, to the bare loop with 8 a worker",
            ours=side,
            peer=partial(BareLoop, numbers, 8),
            bound=1.3,
            wants="at most",
        ),
        Row(
            name=f"{name}, to gymnasium",
            ours=side,
            peer=partial(GymnasiumSide, numbers),
            bound=3.0,
            wants="at least",
        ),
    ]


def _leased(num: int) -> list[Row]:
    numbers = [envs.Numbers] * num
    name = f"leased send and receive, {num} numpy envs"
    return [
        Row(
            name=f"{name}, to the bare loop",
            ours=partial(leased, numbers),
            peer=partial(BareLoop, numbers),
            bound=1.5,
            wants="at most",
        ),
        Row(
            name=f"{name}, to gymnasium",
            ours=partial(leased, numbers),
            peer=partial(GymnasiumSide, numbers),
            bound=3.0 if num == 4 else 5.0,
            wants="at least",
        ),
    ]


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
            name="step, 8 envs that wait 1 ms",
            ours=partial(ours, waiting),
            bound=1500.0,
            wants="at most us",
        ),
        Row(
            name="half batches of 16 envs of 0 to 4 ms, to full batches",
            ours=partial(ours_by_half, uneven),
            peer=partial(ours, uneven),
            bound=1.2,
            wants="at least",
        ),
        Row(
            name="rollout of 8 x 25 steps through torchrl's Collector, 8 native envs, to torchrl shm",
            ours=partial(CollectorSide, our_pool, [envs.Native] * 8),
            peer=partial(CollectorSide, torchrl_pool, [envs.Native] * 8),
            bound=3.0,
            wants="at least",
            warm=1,
        ),
    ]


def _lives() -> list[Row]:
    numbers, native = [envs.Numbers] * 16, [envs.Native] * 16
    name = "start, first reset and close, 16"
    rows = [
        Row(
            name=f"{name} numpy envs, {method}, to gymnasium",
            ours=partial(Lives, partial(ours, numbers, start_method=method)),
            peer=partial(Lives, partial(GymnasiumSide, numbers)),
            bound=bound,
            wants="at most",
            warm=1,
        )
        for method, bound in (("fork", 1.1), ("forkserver", 1.5))
    ]
    return [
        *rows,
        Row(
            name=f"{name} native envs, forkserver, to torchrl as it comes",
            ours=partial(Lives, partial(ours, native, start_method="forkserver")),
            peer=partial(Lives, partial(torchrl_spawned, native)),
            bound=20.0,
            wants="at least",
            warm=1,
            blocks=1,
        ),
        Row(
            name=f"{name} numpy envs, the first pool of a process",
            ours=ColdStart,
            bound=None,
            wants="at most us",
            warm=1,
            blocks=3,
        ),
    ]


def _switches() -> list[Row]:
    rows = []
    for num, bound_us in ((4, 1e3), (20, 5e3)):
        numbers = [envs.Numbers] * num
        switch = partial(Switches, numbers)
        rows += [
            Row(
                name=f"parameter switch on {num} live envs",
                ours=switch,
                bound=bound_us,
                wants="at most us",
            ),
            Row(
                name=f"parameter switch on {num} live envs, to gymnasium's call",
                ours=switch,
                peer=partial(GymnasiumCalls, numbers),
                bound=1.0,
                wants="at most",
            ),
        ]
    return rows
