"""Every fault there is, by the name that scenarios give it."""

from __future__ import annotations

from harness.faults.payload import BadReply, BadWeights, Exit, Raise, Stall
from harness.faults.primitive import CloseChannel, DelayTransfer
from harness.faults.process import CollectCycle, Signal, Stop
from harness.faults.sequence import HoldForward

PoolFault = (
    CloseChannel | DelayTransfer | CollectCycle | Signal | Stop | Raise | Exit | Stall | BadReply
)
WeightsFault = HoldForward | BadWeights
