"""Which replies can be spoilt in which way."""

from __future__ import annotations

import pytest

from harness.faults.payload import BadReply
from harness.model.scenario import Placement
from harness.ports.pool import PoolCapabilities

AT = Placement(role="worker:0", op="step")
PROMISING = PoolCapabilities(promises_forms=True)


@pytest.mark.parametrize(
    ("defect", "setup"),
    [
        ("unpicklable", {"transport": "thread", "payload": "plain"}),
        ("missing_key", {"transport": "process", "payload": "plain"}),
    ],
)
def test_what_cannot_be_wrong_there_is_not_asked_for(defect, setup):
    assert BadReply(at=AT, defect=defect).unsupported(setup, PROMISING)


@pytest.mark.parametrize(
    ("defect", "setup"),
    [
        ("unpicklable", {"transport": "process", "payload": "plain"}),
        ("missing_key", {"transport": "thread", "payload": "nested"}),
        ("shape", {"transport": "thread", "payload": "plain"}),
        ("dtype", {"transport": "thread", "payload": "plain"}),
    ],
)
def test_what_can_be_wrong_there_is_asked_for(defect, setup):
    assert BadReply(at=AT, defect=defect).unsupported(setup, PROMISING) is None


@pytest.mark.parametrize(("defect", "asked"), [("shape", 0), ("dtype", 0), ("unpicklable", 1)])
def test_who_promises_no_form_of_observations_cannot_break_it(defect, asked):
    setup = {"transport": "process", "payload": "nested"}
    reason = BadReply(at=AT, defect=defect).unsupported(setup, PoolCapabilities())
    assert (reason is None) == bool(asked)
