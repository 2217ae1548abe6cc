"""A history pairs events into operations and faults into records."""

from __future__ import annotations

import pytest

from harness.model.history import Kind
from tests.unit.harness.checkers.histories import Recorder

FAULTS = [("raise", "f1")]


@pytest.mark.parametrize(
    ("kind", "status"), [(Kind.OK, "ok"), (Kind.FAIL, "fail"), (Kind.INFO, "info")]
)
def test_an_operation_ends_as_its_completion_says(kind, status):
    recorder = Recorder()
    invoked = recorder.invoke("step")
    recorder.write(kind, "step", request=invoked.id, after_s=0.25)
    (op,) = recorder.history().operations
    assert (op.status, op.elapsed_s, op.events) == (status, 0.25, (0, 1))


def test_an_operation_without_a_completion_is_open():
    recorder = Recorder()
    recorder.invoke("step")
    (op,) = recorder.history().operations
    assert (op.status, op.elapsed_s, op.rows, op.error) == ("open", None, [], {})


def test_operations_that_overlap_are_told_apart_by_their_ids():
    recorder = Recorder()
    first, second = recorder.invoke("recv"), recorder.invoke("send")
    recorder.ok(second)
    recorder.fail(first, "late")
    assert [op.status for op in recorder.history().operations] == ["fail", "ok"]


def test_a_fault_leaves_a_record_of_how_far_it_came():
    recorder = Recorder()
    recorder.fault("f1", "armed")
    recorder.fault("f1", "reached", worker=1)
    (record,) = recorder.history(faults=FAULTS).fault_records
    assert (record.armed, record.reached, record.effect, record.worker) == (True, True, None, 1)


def test_a_fault_that_was_never_armed_has_a_record_too():
    (record,) = Recorder().history(faults=FAULTS).fault_records
    assert (record.name, record.id, record.armed, record.reached) == ("raise", "f1", False, False)


def test_a_fault_is_in_force_from_when_it_was_reached_until_it_was_healed():
    recorder = Recorder()
    recorder.fault("f1", "armed")
    reached = recorder.fault("f1", "reached")
    healed = recorder.fault("f1", "healed")
    history = recorder.history(faults=FAULTS)
    assert history.fault_window_ns("f1") == (reached.ts_ns, healed.ts_ns)


def test_a_fault_that_is_never_healed_stays_in_force():
    recorder = Recorder()
    reached = recorder.fault("f1", "reached")
    assert recorder.history(faults=FAULTS).fault_window_ns("f1") == (reached.ts_ns, None)


def test_a_fault_that_is_healed_unreached_was_never_in_force():
    recorder = Recorder()
    recorder.fault("f1", "armed")
    recorder.fault("f1", "healed")
    assert recorder.history(faults=FAULTS).fault_window_ns("f1") is None
