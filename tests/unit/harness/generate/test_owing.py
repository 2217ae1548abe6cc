from __future__ import annotations

import pytest

from harness.faults.owner import SignalOwner
from harness.faults.payload import BadReply, Exit, Raise, Stall
from harness.faults.primitive import CloseChannel, FillChannel
from harness.faults.process import Kill, Stop
from harness.faults.resources import FullSharedMemory, Limit, OneProcessor
from harness.faults.transfer import DropTransfer, DuplicateTransfer
from harness.generate.owing import owed
from harness.model.scenario import Expected, Heal, Placement
from harness.ports.leave import Leave
from harness.ports.pool_verbs import CloseBeside, Recv, Reset, Send, Shutdown, Step

AT = Placement(role="worker:0", op="step")
CLOSE = Placement(role="worker:0", op="close")
BETWEEN = Placement(role="driver", op="step")
SURVIVES, RECOVERS, FAILS = Expected.SURVIVES, Expected.RECOVERS, Expected.FAILS_BOUNDED

CASES = {
    "nothing": ((Reset(), Shutdown()), SURVIVES),
    "closed at the end": ((CloseChannel(channel="results"), Shutdown()), SURVIVES),
    "closed before a step": ((CloseChannel(channel="results"), Step(), Shutdown()), FAILS),
    "stalled": ((Stall(at=AT), Send(), Recv(), Shutdown()), RECOVERS),
    "slow": ((Stall(at=AT, for_s=1.4), Step(), Shutdown()), SURVIVES),
    "stalled and raised": ((Stall(at=AT), Raise(at=AT), Step(), Shutdown()), FAILS),
    "stopped": ((Stop(at=AT), Send(), Recv(), Shutdown()), RECOVERS),
    "left": ((Exit(at=AT), Step(), Shutdown()), FAILS),
    "left while closing": ((Exit(at=CLOSE), Shutdown()), SURVIVES),
    "killed at the end": ((Kill(worker=0), Shutdown(), CloseBeside()), SURVIVES),
    "killed and nobody caught it": ((Kill(worker=0), Step(), Leave(how="uncaught")), FAILS),
    "another type": ((BadReply(at=AT, defect="dtype"), Step(), Shutdown()), (SURVIVES, FAILS)),
    "another shape": ((BadReply(at=AT, defect="shape"), Step(), Shutdown()), FAILS),
    "late, then another type": (
        (Stall(at=AT), Send(), Recv(), BadReply(at=AT, defect="dtype"), Step(), Shutdown()),
        (RECOVERS, FAILS),
    ),
    "twice": ((DuplicateTransfer(channel="results", role="worker"), Step(), Shutdown()), SURVIVES),
    "lost": ((DropTransfer(channel="results", role="worker"), Send(), Recv(), Shutdown()), FAILS),
    "short at first": ((Limit(id="f1"), Reset(), Shutdown()), (SURVIVES, FAILS)),
    "short for a while": ((Limit(id="f1"), Step(), Heal(heal="f1"), Shutdown()), RECOVERS),
    "no room": ((FullSharedMemory(), Step(), Shutdown()), (SURVIVES, FAILS)),
    "one processor": ((OneProcessor(), Step(), Shutdown()), SURVIVES),
    "full": ((Stall(at=AT), Send(), Recv(), FillChannel(worker=0), Shutdown()), RECOVERS),
    "owner killed": ((SignalOwner(at=AT, signal="KILL"), Step()), SURVIVES),
    "interrupted": ((SignalOwner(at=AT, signal="INT"), Step(), Shutdown()), FAILS),
    "interrupted and reset": (
        (SignalOwner(at=AT, signal="INT"), Step(), Reset(), Shutdown()),
        (RECOVERS, FAILS),
    ),
    "interrupted between": (
        (SignalOwner(at=BETWEEN, signal="INT"), Step(), Shutdown()),
        (SURVIVES, FAILS),
    ),
}


@pytest.mark.parametrize(("steps", "expected"), CASES.values(), ids=CASES)
def test_what_a_correct_pool_owes_follows_from_the_faults(steps, expected):
    assert owed(steps) == expected
