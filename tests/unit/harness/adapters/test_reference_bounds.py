"""The reference's own bounds fit the deadlines of the calls that a scenario makes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from tensordict import TensorDict

from harness.adapters._reference_weights import SchemeWeights
from harness.adapters.reference import backend
from harness.ports.backend import own_bound
from harness.ports.storage import StorageSetup


class _Workers:
    """Workers that note how long they were given."""

    num_workers = 3
    versions = (0, 0, 0)

    def __init__(self) -> None:
        self.timeouts: list[float] = []

    def forward(self, given: TensorDict, *, timeout: float, **_: int) -> list[TensorDict]:
        self.timeouts.append(timeout)
        names = ("first", "last", "buffer", "began")
        return [given.update({name: torch.zeros(1) for name in names})]

    def restart(self, _: int, *, timeout: float) -> None:
        self.timeouts.append(timeout)


def weights(workers: _Workers, sends: list[dict[str, Any]]) -> SchemeWeights:
    made = SchemeWeights.__new__(SchemeWeights)
    made._workers = workers  # type: ignore[assignment]  # all that is asked of them
    made._scheme = SimpleNamespace(send=lambda _, **given: sends.append(given))
    made._factory = SimpleNamespace(weights=lambda *_: {})
    made._others = {}
    return made


def test_forwards_of_all_workers_together_have_what_the_call_is_allowed():
    workers = _Workers()
    made = weights(workers, [])
    made.allow(20.0)
    made.forward()
    first, *_, last = workers.timeouts
    assert own_bound(20.0) >= first > last > own_bound(20.0) - 1.0


def test_a_send_has_what_the_call_is_allowed():
    sends: list[dict[str, Any]] = []
    made = weights(_Workers(), sends)
    made.allow(20.0)
    made.send(2, fresh=True, defect=None)
    assert sends == [{"worker_ids": None, "timeout": own_bound(20.0)}]


def test_a_restart_has_what_the_call_is_allowed():
    workers = _Workers()
    made = weights(workers, [])
    made.allow(20.0)
    made.restart_worker(1)
    assert workers.timeouts == [own_bound(20.0)]


def test_a_storage_waits_within_what_its_calls_are_allowed():
    assert backend.storage is not None
    made: Any = backend.storage.make(StorageSetup(), None)
    made.allow(20.0)
    assert made.buffer.storage.patience_s == own_bound(20.0)
