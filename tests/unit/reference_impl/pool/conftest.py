"""Pools that are closed after the test, in both backends."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from reference_impl.pool import AsyncEnvPool
from tests.unit.reference_impl.pool.envs import Behaviour, Gate, ProbeEnv

BACKENDS = ("threading", "multiprocessing")


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture
def make_pool(backend):
    """Return a maker of pools: one probe env a behaviour, tagged 1, 2, ..."""
    pools: list[AsyncEnvPool] = []

    def make(*behaviours: Behaviour, **options: Any) -> AsyncEnvPool:
        makers = [partial(ProbeEnv, tag, plan) for tag, plan in enumerate(behaviours, start=1)]
        options = {"backend": backend, "start_method": "fork", "shutdown_timeout": 4.0} | options
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
