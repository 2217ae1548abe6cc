"""Which workers can be told to leave, to stop, or to end."""

from __future__ import annotations

import pytest

from harness.faults.payload import Exit
from harness.faults.process import Signal, Stop
from harness.model.scenario import Placement

AT = Placement(role="worker:0", op="step")


@pytest.mark.parametrize(
    "fault",
    [Exit(at=AT, how="os_exit"), Signal(at=AT, signal="TERM"), Stop(at=AT)],
    ids=lambda fault: fault.fault,
)
def test_what_ends_or_stops_a_process_strikes_no_thread(fault):
    assert fault.unsupported({"transport": "process"}, None) is None
    assert fault.unsupported({"transport": "thread"}, None)


def test_an_exit_that_is_an_exception_strikes_threads_too():
    assert Exit(at=AT, how="sys_exit").unsupported({"transport": "thread"}, None) is None
