"""Sides of the benches that are about more than steps: whole lives, rollouts, parameters."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch
from gymnasium.vector import AsyncVectorEnv
from torchrl.collectors import Collector
from torchrl.envs import AsyncEnvPool as TorchRLPool

from reference_impl.pool import AsyncEnvPool
from tools.bench_sides import Makers, PoolSide, Side, torchrl

ROLLOUT = 25  # steps of each env


class Lives:
    """Whole lives: each step makes a side, which resets its envs, and closes it."""

    def __init__(self, make: Callable[[], Side]) -> None:
        self._make = make

    def step(self) -> object:
        """Start, first reset, close."""
        self._make().close()
        return None

    def close(self) -> None:
        """Nothing is left."""


class ColdStart:
    """The first pool of a process, whose fork server has to be started, too."""

    def step(self) -> float:
        """Return what the life of such a pool took, in us; importing what it needs does not count."""
        done = subprocess.run(
            [sys.executable, "-m", "tools.bench_cold_start"],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return float(done.stdout)

    def close(self) -> None:
        """Nothing is left."""


class CollectorSide:
    """A pool that torchrl's collector collects from, without what no pool of torchrl's could take.

    Torchrl's own pool through slots refuses the collector's trajectory ids, and its batches do not
    go into the collector's buffers: it works without both only, and so ours goes without them.
    """

    def __init__(self, make_pool: Callable[[Makers], Any], makers: Makers) -> None:
        self._collector: Any = Collector(
            make_pool(makers),
            _still,
            frames_per_batch=ROLLOUT * len(makers),
            total_frames=-1,
            use_buffers=False,
            track_traj_ids=False,
        )
        self._batches = iter(self._collector)

    def step(self) -> object:
        """One rollout."""
        return next(self._batches)

    def close(self) -> None:
        """Close collector and pool."""
        self._collector.shutdown()


def _still(td: Any) -> Any:
    return td.set("action", torch.zeros(*td.shape, 1))


class Switches:
    """Parameters of all envs are switched, by a method of theirs."""

    def __init__(self, makers: Makers) -> None:
        self._pool = AsyncEnvPool(makers, start_method="fork")
        self._pool.reset()

    def step(self) -> object:
        """One switch."""
        return self._pool.update_env_params({"level": 1.0}, method="adjust")

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


class GymnasiumCalls:
    """The same method is called by gymnasium."""

    def __init__(self, makers: Makers) -> None:
        self._envs = AsyncVectorEnv(makers, context="fork")
        self._envs.reset()

    def step(self) -> object:
        """One call."""
        return self._envs.call("adjust", level=1.0)

    def close(self) -> None:
        """Close the envs."""
        self._envs.close()


def our_pool(makers: Makers) -> AsyncEnvPool:
    """The reference's pool."""
    return AsyncEnvPool(makers, start_method="fork")


def torchrl_pool(makers: Makers) -> Any:
    """Torchrl's pool through slots, as it is fastest here."""
    return TorchRLPool(list(makers), backend="multiprocessing", exchange="shm")


def torchrl_spawned(makers: Makers) -> PoolSide:
    """Torchrl's pool of processes, started as its import has it."""
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method("spawn", force=True)
    try:
        return torchrl(makers, "shm")
    finally:
        multiprocessing.set_start_method(before, force=True)
