"""A batch is spoilt where the backend takes arrays by name; the next one is whole."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.faults.resources import FullDisk
from harness.faults.rows import BadRows
from harness.model.scenario import Placement
from harness.ports.storage import StorageCapabilities

AT = Placement(role="driver", op="extend")


@pytest.mark.parametrize("defect", ["missing_key", "shape", "dtype"])
def test_the_next_batch_is_spoilt_where_it_fires(defect):
    said: list[tuple[object, ...]] = []
    stage = SimpleNamespace(
        record=lambda *said_: said.append(said_), spoil_next_send=lambda *told: said.append(told)
    )
    fault = BadRows(id="f1", at=AT, defect=defect)
    fault.arm(stage)
    fault.fire(stage)
    assert said == [("f1", "armed"), ("f1", "reached"), ("f1", defect)]


def test_what_cannot_be_put_to_a_backend_is_said():
    able = StorageCapabilities(defects=frozenset({"shape"}))
    assert BadRows(at=AT, defect="shape").unsupported({}, able) is None
    assert "missing_key" in (BadRows(at=AT, defect="missing_key").unsupported({}, able) or "")


def test_what_lies_in_memory_needs_no_disk():
    fault = FullDisk()
    assert fault.unsupported({"medium": "disk"}, None) is None
    assert "no disk" in (fault.unsupported({"medium": "memory"}, None) or "")
