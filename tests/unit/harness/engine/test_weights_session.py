"""What a race counts of its forwards, and what a backend with bounds of its own is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from harness.engine.weights_session import TORN_MAX, WeightsSession, _count
from harness.ports.weights import Stamp
from harness.ports.weights_verbs import Mutate


def counted(*stamps: Stamp) -> dict[str, Any]:
    found: dict[str, Any] = {"forwards": 0, "torn": 0, "rows": []}
    _count(found, list(stamps))
    return found


def test_whole_forwards_are_counted_and_not_kept():
    whole = Stamp(worker=0, first=2, last=2, buffer=2)
    assert counted(whole, whole) == {"forwards": 2, "torn": 0, "rows": []}


def test_torn_ones_are_all_counted_and_the_first_few_kept():
    torn = Stamp(worker=1, first=2, last=3, buffer=3)
    found = counted(*[torn] * (TORN_MAX + 2))
    assert (found["forwards"], found["torn"]) == (TORN_MAX + 2, TORN_MAX + 2)
    assert found["rows"] == [{"worker": 1, "first": 2, "last": 3, "buffer": 3}] * TORN_MAX


def test_each_call_has_its_own_deadline():
    told: list[float] = []
    session = WeightsSession.__new__(WeightsSession)
    session.request = SimpleNamespace(time_scale=2.0)  # type: ignore[assignment]  # all that it looks at
    session._sync = SimpleNamespace(allow=told.append, mutate=told.append)
    session.perform(Mutate(version=7, within_s=20.0), {})
    assert told == [40.0, 7]
