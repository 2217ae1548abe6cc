"""The verbs of an env pool: what a scenario's steps may ask of it.

A verb that is neither in `ALWAYS` nor declared by the backend makes its row UNSUPPORTED.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.ports.entries import COMPARABLE, Compare
from harness.ports.leave import Leave
from harness.ports.param_verbs import PARAMS, BuildAnew, ReadParams, SetParams

LENDING = "give_back"  # who takes back has lent


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Reset every env; `refusable`: a pool may raise instead, in time, and goes on as before."""

    do: Literal["reset"] = "reset"
    times: int = 1
    refusable: bool = False
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetWhere:
    """Reset the envs whose entry in `mask` is true; the others must not move; `refusable` as in `Reset`."""

    mask: tuple[bool, ...]
    do: Literal["reset_where"] = "reset_where"
    refusable: bool = False
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Step every env, each with an action of its own."""

    do: Literal["step"] = "step"
    times: int = 1
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Send every env a step without waiting for the results.

    Attributes:
        refusable: the pool may refuse it: more steps are sent than it has to take in flight.
    """

    refusable: bool = False
    do: Literal["send"] = "send"
    times: int = 1
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recv:
    """Receive results of earlier sends.

    Attributes:
        timeout_s: given to the backend; without it the call waits for as long as it takes.
        min_get: how many results at least; all envs if it is left out.
        refusable: a pool may raise instead, in time, and goes on as before.
        lent: take the batch as a loan: until `give_back` it lies where the pool would write next, and no
            call may write over it.
    """

    do: Literal["recv"] = "recv"
    refusable: bool = False
    lent: bool = False
    timeout_s: float | None = None
    min_get: int | None = None
    within_s: float = 5.0

    @property
    def capability(self) -> str:
        """Waiting for fewer results than were sent is more than waiting for all; so is a loan."""
        if self.lent:
            return LENDING
        return "recv" if self.min_get is None else "recv_some"


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveBack:
    """Give back what was lent, which is not looked at any more: its envs may be asked again."""

    do: Literal["give_back"] = "give_back"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """Have the envs draw from this base seed, from the next reset on."""

    value: int = 0
    do: Literal["seed"] = "seed"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """Take batches from the collector that drives the pool, `frames` frames each."""

    frames: int = 8
    do: Literal["rollout"] = "rollout"
    times: int = 1
    within_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Drop the pool without closing it and build the next one."""

    do: Literal["replace"] = "replace"
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """Reset and step the pool, close it, and build the next one."""

    do: Literal["rebuild"] = "rebuild"
    times: int = 1
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBeside:
    """Build a second pool like the first, which goes on living, and reset it; what it answers is not judged."""

    do: Literal["open_beside"] = "open_beside"
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Do nothing, while the guardian measures what processor time the cell's processes use.

    Attributes:
        for_s: for how long; the first `harness.engine.meter.SETTLE_S` of it are not measured.
    """

    for_s: float = 1.4
    do: Literal["idle"] = "idle"
    within_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Count what every process of the cell holds; all marks of a scenario are made in the same state."""

    do: Literal["mark"] = "mark"
    within_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseBeside:
    """Close the second pool."""

    do: Literal["close_beside"] = "close_beside"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """Close the pool, in a second thread if `thread` says so."""

    thread: bool = False
    do: Literal["shutdown"] = "shutdown"
    times: int = 1
    within_s: float = 5.0


_Call = Reset | ResetWhere | Step | Send | Recv | GiveBack | Seed | Rollout | Compare
_Lifetime = Replace | Rebuild | OpenBeside | CloseBeside | Shutdown | Leave
PoolVerb = _Call | _Lifetime | Idle | Mark | SetParams | ReadParams | BuildAnew
ALWAYS: frozenset[str] = frozenset(
    {
        "reset",
        "step",
        "replace",
        "rebuild",
        "build_anew",
        "idle",
        "mark",
        "open_beside",
        "close_beside",
        "shutdown",
        "leave",
    }
)
_CALLS = frozenset({"reset_where", "send", "recv", "recv_some", "seed", "rollout"})
OPTIONAL: frozenset[str] = COMPARABLE | _CALLS | PARAMS | {LENDING}
