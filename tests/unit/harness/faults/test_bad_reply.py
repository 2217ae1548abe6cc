"""Which replies can be spoilt in which way."""

from __future__ import annotations

import pytest

from harness.faults.payload import BadReply
from harness.model.scenario import Placement

AT = Placement(role="worker:0", op="step")


@pytest.mark.parametrize(
    ("defect", "setup"),
    [
        ("unpicklable", {"transport": "thread", "payload": "plain"}),
        ("missing_key", {"transport": "process", "payload": "plain"}),
    ],
)
def test_what_cannot_be_wrong_there_is_not_asked_for(defect, setup):
    assert BadReply(at=AT, defect=defect).unsupported(setup, None)


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
    assert BadReply(at=AT, defect=defect).unsupported(setup, None) is None
