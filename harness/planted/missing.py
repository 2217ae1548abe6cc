"""The reference with a bug each by which rows that were asked for never come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from harness.adapters._reference_weights import SchemeWeights
from harness.planted.variants import planted
from harness.planted.weights import planted as planted_weights
from harness.ports.backend import Backend
from harness.ports.pool import Batch, EnvFactory, PoolPort, PoolSetup
from harness.ports.weights import Stamp
from reference_impl.pool import AsyncEnvPool


def _half(batch: Batch) -> Batch:
    count = len(batch.env_index) // 2
    columns = (f.name for f in fields(batch) if f.name != "handed")
    there = ((name, column) for name in columns if (column := getattr(batch, name)) is not None)
    return replace(batch, **{name: column[:count] for name, column in there})


def _halved(port: PoolPort) -> PoolPort:
    def make(setup: PoolSetup, factories: Sequence[EnvFactory], deadline_s: float) -> Any:
        made: Any = port.make(setup, factories, deadline_s)
        whole = made.rollout
        made.rollout = lambda frames: _half(whole(frames))
        return made

    return replace(port, make=make)


class _OneSpeaks(SchemeWeights):
    def forward(self, workers: Sequence[int] | None = None) -> list[Stamp]:
        """Run everybody's forward, and tell of one."""
        return super().forward(workers)[:1]


def _rolling_half() -> Backend:
    backend = planted("half_a_rollout", AsyncEnvPool)
    assert backend.pool is not None
    return replace(backend, pool=_halved(backend.pool))


half_a_rollout = _rolling_half()
one_worker_speaks = planted_weights("one_worker_speaks", sync=_OneSpeaks)
