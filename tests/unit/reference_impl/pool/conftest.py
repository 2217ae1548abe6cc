"""Pools that are closed after the test, in both backends and exchanges."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from reference_impl.pool import AsyncEnvPool
from tests.unit.reference_impl.pool.envs import Behaviour, Gate, ProbeEnv

WAYS = {
    "threads": ("threading", "queue"),
    "processes": ("multiprocessing", "queue"),
    "slots": ("multiprocessing", "shm"),
}


@pytest.fixture(params=WAYS)
def way(request):
    """What the workers are, and how data reaches them."""
    return WAYS[request.param]


@pytest.fixture
def backend(way):
    return way[0]


@pytest.fixture
def exchange(way):
    return way[1]


@pytest.fixture
def make_pool(backend, exchange):
    """Return a maker of pools: one probe env a behaviour, tagged 1, 2, ..."""
    pools: list[AsyncEnvPool] = []

    def make(*behaviours: Behaviour, **options: Any) -> AsyncEnvPool:
        makers = [partial(ProbeEnv, tag, plan) for tag, plan in enumerate(behaviours, start=1)]
        usual = {"backend": backend, "exchange": exchange, "start_method": "fork"}
        options = {**usual, "shutdown_timeout": 4.0, **options}
        if options["backend"] == "threading" or len({each.size for each in behaviours}) > 1:
            options["exchange"] = "auto"  # by value
        pool = AsyncEnvPool(makers, **options)
        pools.append(pool)
        return pool

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def gate():
    held = Gate()
    yield held
    held.close()
