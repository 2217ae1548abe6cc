"""Every fault there is, by the name that scenarios give it."""

from __future__ import annotations

from harness.faults.payload import BadWeights, Raise, Stall
from harness.faults.primitive import CloseChannel, DelayTransfer
from harness.faults.process import CollectCycle, Signal
from harness.faults.sequence import HoldForward

PoolFault = CloseChannel | DelayTransfer | CollectCycle | Signal | Raise | Stall
WeightsFault = HoldForward | BadWeights
