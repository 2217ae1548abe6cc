"""Endings in which the process is left, or its owner gets a signal."""

from __future__ import annotations

from typing import Literal, get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from harness.faults.owner import SignalOwner
from harness.generate.blocks_calls import EXCHANGES, can_leave, farewells, stepping, ways
from harness.generate.derive import drawn
from harness.generate.ground import EDGES, EVERYWHERE, HEALED, Form, Ground, Steps, form, going_on
from harness.model.gate import Target
from harness.model.scenario import Placement
from harness.ports.leave import Leave
from harness.ports.pool_verbs import Send, Shutdown, Step

CODES = (0, 3)
ENDING_SIGNALS: tuple[Literal["KILL", "TERM"], ...] = ("KILL", "TERM")
ALONE_S = 10.0  # nobody gives up a call whose caller is killed in it


@st.composite
def _left(draw: DrawFn, ground: Ground) -> Steps:
    """The script ends without closing the pool, maybe with steps in flight."""
    ways_out = st.sampled_from(("return", "exception", "exit"))
    leave = draw(drawn(Leave, how=ways_out, code=st.sampled_from(CODES)))
    sent = EXCHANGES.possible(ground) and draw(st.booleans())
    return (Send(), leave) if sent else (leave,)


@st.composite
def _owner_killed(draw: DrawFn, ground: Ground) -> Steps:
    """The owner is killed while it waits for a step, or between two calls."""
    signal = draw(st.sampled_from(ENDING_SIGNALS))
    times = draw(st.integers(1, ground.k_max))
    edge = draw(st.sampled_from(EDGES))
    role = draw(st.sampled_from([*(f"worker:{env}" for env in ground.envs), "driver"]))
    at = Placement(role=role, op="step", k=times, edge=edge)
    return (*ground.begun, SignalOwner(at=at, signal=signal), Step(times=times, within_s=ALONE_S))


@st.composite
def _interrupted(draw: DrawFn, ground: Ground) -> Steps:
    """Ctrl-C in the middle of a call, which the trainer catches, or nobody."""
    target = draw(st.sampled_from(get_args(Target)))
    way = draw(st.sampled_from([way for way in ways(ground) if way != "rollout"]))
    k = draw(st.integers(1, ground.k_max)) if way == "step" else 1
    at = Placement(role=draw(ground.worker()), op="step", k=k)
    _, calls = stepping(ground, way, k)
    fault = SignalOwner(at=at, signal="INT", target=target)
    # Of workers that were signalled too some may be gone.
    again = going_on(draw) if "step" in ground.kinds and target == "main" else ()
    return (*ground.begun, fault, *calls, HEALED, *again, *draw(farewells(ground)))


@st.composite
def _interrupted_between(draw: DrawFn, ground: Ground) -> Steps:
    """Ctrl-C between two steps, which the trainer catches."""
    target = draw(st.sampled_from(get_args(Target)))
    k = draw(st.integers(1, 2))
    edge = draw(st.sampled_from(EDGES))
    at = Placement(role="driver", op="step", k=k, edge=edge)
    fault = SignalOwner(at=at, signal="INT", target=target)
    return (*ground.begun, fault, Step(times=k), HEALED, Step(), Shutdown())


def _owns_processes(ground: Ground) -> bool:
    return ground.processes and "step" in ground.kinds


def _calls(ground: Ground) -> bool:
    return any(way != "rollout" for way in ways(ground))


ENDINGS: tuple[Form, ...] = (
    form("leave", draw=_left, hosts=EVERYWHERE, fits=can_leave, lanes=True),
    form("signal_owner", draw=_owner_killed, fits=_owns_processes),
    form("signal_owner", draw=_interrupted, fits=_calls),
    form("signal_owner", "step", draw=_interrupted_between),
)
