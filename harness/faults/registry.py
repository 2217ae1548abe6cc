"""Every fault there is, by the name that scenarios give it."""

from __future__ import annotations

from harness.faults.owner import SignalOwner
from harness.faults.payload import BadReply, BadWeights, Exit, Raise, Stall
from harness.faults.primitive import CloseChannel, DelayTransfer
from harness.faults.process import CollectCycle, Signal, Stop
from harness.faults.resources import FullSharedMemory, Limit, OneProcessor
from harness.faults.sequence import HoldForward

PoolFault = (
    CloseChannel
    | DelayTransfer
    | CollectCycle
    | Signal
    | Stop
    | Raise
    | Exit
    | Stall
    | BadReply
    | Limit
    | FullSharedMemory
    | OneProcessor
    | SignalOwner
)
WeightsFault = HoldForward | BadWeights
