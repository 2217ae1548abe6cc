"""Every fault there is, by the name that scenarios give it."""

from __future__ import annotations

from harness.faults.owner import SignalOwner
from harness.faults.payload import BadReply, BadWeights, Exit, Raise, Stall
from harness.faults.primitive import CloseChannel, FillChannel
from harness.faults.process import CollectCycle, Freeze, Kill, Signal, Stop
from harness.faults.resources import FullDisk, FullSharedMemory, Limit, OneProcessor
from harness.faults.rows import BadRows
from harness.faults.sequence import HoldApply, HoldForward
from harness.faults.transfer import (
    CutChannel,
    DelayTransfer,
    DropTransfer,
    DuplicateTransfer,
    FailTransfer,
    ReorderTransfer,
    TearTransfer,
    TruncateTransfer,
    UnrebuildableItem,
)

Transfers = (
    DelayTransfer
    | FailTransfer
    | DropTransfer
    | DuplicateTransfer
    | ReorderTransfer
    | TruncateTransfer
    | UnrebuildableItem
    | TearTransfer
    | CutChannel
)
PoolFault = (
    CloseChannel
    | FillChannel
    | Transfers
    | CollectCycle
    | Kill
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
WeightsFault = (
    HoldForward
    | HoldApply
    | BadWeights
    | Raise
    | Exit
    | Stall
    | Signal
    | Stop
    | Kill
    | Freeze
    | CloseChannel
    | Transfers
    | CollectCycle
    | FullSharedMemory
    | OneProcessor
    | Limit
    | SignalOwner
)
StorageFault = Signal | Stop | Kill | Stall | BadRows | FullDisk | FullSharedMemory
