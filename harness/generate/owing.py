"""What a correct pool owes under the faults of a scenario."""

from __future__ import annotations

from collections.abc import Sequence

from harness.checkers._shared import HOLDING_FAULTS, LOSING_FAULTS
from harness.faults.owner import SignalOwner
from harness.faults.payload import BadReply, Stall
from harness.faults.registry import PoolFault
from harness.faults.resources import Limit
from harness.generate.ground import PoolStep
from harness.model.scenario import Expected, Heal, Phase
from harness.ports.leave import Leave
from harness.ports.pool_verbs import CloseBeside, Reset, Shutdown

Owed = Expected | tuple[Expected, ...]


def owed(steps: Sequence[PoolStep]) -> Owed:
    """The outcome, or what may be chosen from, after the first faults that decide it."""
    said = {outcome for i, step in enumerate(steps) if (outcome := _under(step, steps[i + 1 :]))}
    if "fails" in said:
        return Expected.FAILS_BOUNDED
    mild = Expected.RECOVERS if said & {"recovers", "recovers or fails"} else Expected.SURVIVES
    doubtful = said & {"may fail", "recovers or fails"}
    return (mild, Expected.FAILS_BOUNDED) if doubtful else mild


def _under(step: PoolStep, after: Sequence[PoolStep]) -> str:
    """What a step has the rest of its scenario do; nothing if that is as without it."""
    if not isinstance(step, PoolFault) or _strikes_closing(step, after):
        return ""
    match step:
        case SignalOwner():
            return _interrupted(step, after)
        case BadReply(defect="dtype"):  # everybody may be given the type that was promised
            return "may fail"
        case Stall(for_s=seconds) if seconds:
            return ""
        case Limit():
            return "recovers" if _healed(step, after) else "may fail"
        case _ if step.fault in LOSING_FAULTS:
            return "fails"
        case _ if step.fault in HOLDING_FAULTS:
            return "recovers"
        case _:
            return "may fail" if step.fault == "full_shared_memory" else ""


def _strikes_closing(fault: PoolFault, after: Sequence[PoolStep]) -> bool:
    """Whether it strikes while pools or envs are closed: no call reports that, and the close is clean."""
    at = fault.placement
    called = [step for step in after if not isinstance(step, PoolFault | Heal | Phase)]
    closing = all(isinstance(step, Shutdown | CloseBeside | Leave) for step in called)
    return closing or (at is not None and at.op == "close")


def _interrupted(fault: SignalOwner, after: Sequence[PoolStep]) -> str:
    """Who is killed has no call to report it; an interrupt ends the call that it falls into."""
    if fault.signal != "INT":
        return ""
    if fault.at.role == "driver":
        return "may fail"
    going_on = any(isinstance(step, Reset) for step in after)
    return "recovers or fails" if going_on else "fails"


def _healed(fault: Limit, after: Sequence[PoolStep]) -> bool:
    return any(isinstance(step, Heal) and step.heal == fault.id for step in after)
