"""Blocks whose faults strike workers: held for a while, or failing, after which an ending follows."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.payload import BadReply, Exit, Raise, Stall
from harness.faults.process import Kill, Signal, Stop
from harness.generate.blocks_calls import (
    HEALTHY_S,
    STEPS,
    farewells,
    meetings,
    shutdowns,
    stepping,
    ways,
)
from harness.generate.derive import drawn
from harness.generate.ground import (
    BARE,
    EVERYWHERE,
    HEALED,
    HUNG_S,
    OFTEN,
    RARE,
    Form,
    Ground,
    Steps,
    able,
    form,
    going_on,
    in_processes,
    receives_some,
    receives_some_of_several,
)
from harness.model.scenario import Phase, Placement
from harness.ports.pool_verbs import CloseBeside, OpenBeside, Recv, Reset, Send, Shutdown, Step

STALLED_S = (0.1, 0.2)  # long enough for envs that do answer, short enough for many examples
SOMEWHERE = Placement(role="worker", op="reset")


@st.composite
def held(
    draw: DrawFn, ground: Ground, late: SearchStrategy[Recv], cls: type[Stall | Stop] = Stall
) -> Steps:
    """A send that meets a stall or a stop, a receive that is kept waiting, and the end of it."""
    at = draw(ground.placement("step", ground.k_max if "step" in ground.kinds else 1))
    before = (Step(times=at.k - 1),) if at.k > 1 else ()
    return (*ground.fresh, cls(at=at), *before, Send(), draw(late), HEALED)


@st.composite
def _stalls(draw: DrawFn, ground: Ground, cls: type[Stall | Stop]) -> Steps:
    """All results are asked for in vain, and come once the env goes on."""
    waiting = draw(held(ground, drawn(Recv, timeout_s=st.sampled_from(STALLED_S)), cls))
    converging = (Phase(phase="converge"),) if draw(st.booleans()) else ()
    return (*waiting, Recv(), *converging)


@st.composite
def _partial_receives(draw: DrawFn, ground: Ground) -> Steps:
    """How many results are left over is the backend's choice, so that only a shutdown can follow."""
    some = st.integers(1, ground.setup.num_envs)
    late = draw(drawn(Recv, min_get=some, timeout_s=st.sampled_from(HEALTHY_S)))
    return (Send(), late, Shutdown())


@st.composite
def _partial_receives_of_held(draw: DrawFn, ground: Ground, cls: type[Stall | Stop]) -> Steps:
    """Whoever is not held answers; at least the one that was held is left for later."""
    some = st.integers(1, ground.setup.num_envs - 1)
    late = drawn(Recv, min_get=some, timeout_s=st.sampled_from(STALLED_S))
    return (*draw(held(ground, late, cls)), Recv(min_get=1), Shutdown())


@st.composite
def _hung(draw: DrawFn, ground: Ground, cls: type[Stall | Stop]) -> Steps:
    """A worker is held to the end, and the shutdown has to end it."""
    fault = cls(at=draw(ground.placement("step")))
    return (*ground.begun, fault, Send(), Shutdown(times=draw(st.integers(1, 2)), within_s=HUNG_S))


@st.composite
def _failures(draw: DrawFn, ground: Ground, cls: type[Raise | Exit | Signal]) -> Steps:
    """A worker fails in an operation; the same kind of call has worked before."""
    op = draw(st.sampled_from(["step", "reset"] if ways(ground) else ["reset"]))
    at = draw(ground.placement(op, 1 if op == "reset" else ground.k_max))
    first, meeting = draw(meetings(ground, at))
    fault = draw(st.sampled_from(ground.supported(cls, at=at)))
    again = going_on(draw) if cls is Raise and STEPS.possible(ground) else ()  # its pool may go on
    return (*ground.fresh, *first, fault, *meeting, *again, *draw(farewells(ground)))


@st.composite
def _failures_beside(draw: DrawFn, ground: Ground) -> Steps:
    """A worker is killed while a second pool holds what it has inherited."""
    at = draw(ground.placement("step"))
    fault = draw(st.sampled_from(ground.supported(Signal, at=at)))
    return (*ground.begun, OpenBeside(), fault, Step(), Shutdown(), CloseBeside())


@st.composite
def _killed_idle(draw: DrawFn, ground: Ground) -> Steps:
    """Workers are killed while nobody calls; the next call has to tell, or a shutdown to cope."""
    killed = sorted(draw(st.sets(st.sampled_from(ground.envs), min_size=1)))
    calls = [stepping(ground, way, 1) for way in ways(ground) if way != "send"]
    first, call = draw(st.sampled_from([((), (Reset(),)), *calls, ((), ())]))
    farewell = draw(farewells(ground)) if call else (Shutdown(),)
    return (*ground.fresh, *first, *(Kill(worker=env) for env in killed), *call, *farewell)


@st.composite
def _failing_closes(draw: DrawFn, ground: Ground) -> Steps:
    """A worker that fails while its env is closed; in the pool's own process that may be reported."""
    at = Placement(role=draw(ground.worker()), op="close")
    kinds: list[type[Any]] = [Raise, Exit, Signal]
    faults = [f for cls in kinds for f in ground.supported(cls, at=at) if f.fault in ground.kinds]
    return (draw(st.sampled_from(faults)), Shutdown())


def _closes_envs_apart(ground: Ground) -> bool:
    return ground.processes and not ground.kinds.isdisjoint({"raise", "exit", "signal"})


@st.composite
def _bad_replies(draw: DrawFn, ground: Ground) -> Steps:
    """A reply is not what was promised; a reset and a step after it work, or say that it is over."""
    op = draw(st.sampled_from(["step", "reset"]))
    at = draw(ground.placement(op, 1 if op == "reset" else ground.k_max))
    fault = draw(st.sampled_from(_told(ground, at)))
    call: Steps = (Reset(),) if op == "reset" else (Step(times=at.k),)
    again = going_on(draw)
    # Another type may be made the right one: then there is nothing to leave uncaught.
    end = draw(shutdowns(ground) if fault.defect == "dtype" else farewells(ground))
    return (*ground.begun, fault, *call, *again, *end)


def _told(ground: Ground, at: Placement) -> list[BadReply]:
    """The bad replies that are told from good ones: where nothing is stacked densely any shape goes."""
    stacked = ground.setup.num_envs > 1 and ground.setup.stack == "dense"
    every: list[BadReply] = ground.supported(BadReply, at=at)
    return [fault for fault in every if stacked or fault.defect == "unpicklable"]


def _failing(cls: type[Any], name: str) -> Form:
    return form(
        name,
        draw=lambda ground: _failures(ground, cls),
        hosts=EVERYWHERE,
        fits=able(cls, at=SOMEWHERE),
    )


def _holding(cls: type[Any], name: str, draw: Any, **rest: Any) -> Form:
    fits = rest.pop("fits", lambda _: True)
    stops = able(cls, at=SOMEWHERE)
    return form(
        name,
        "send",
        "recv",
        draw=lambda ground: draw(ground, cls),
        hosts=BARE,
        fits=lambda ground: fits(ground) and stops(ground),
        **rest,
    )


BLOCKS: tuple[Form, ...] = (
    _holding(Stall, "stall", _stalls),
    _holding(Stop, "stop", _stalls),
)
ENDINGS: tuple[Form, ...] = (
    form("send", "recv", draw=_partial_receives, hosts=BARE, fits=receives_some),
    _holding(Stall, "stall", _partial_receives_of_held, fits=receives_some_of_several),
    _holding(Stop, "stop", _partial_receives_of_held, fits=receives_some_of_several),
    _holding(Stall, "stall", _hung, fits=in_processes, weight=RARE),
    _holding(Stop, "stop", _hung, fits=in_processes, weight=RARE),
    _failing(Raise, "raise"),
    _failing(Signal, "signal"),
    _failing(Exit, "exit"),
    form(
        "signal",
        "step",
        "open_beside",
        "close_beside",
        draw=_failures_beside,
        fits=able(Signal, at=SOMEWHERE),
    ),
    form("kill", draw=_killed_idle, hosts=EVERYWHERE, fits=able(Kill)),
    form("shutdown", draw=_failing_closes, hosts=EVERYWHERE, fits=_closes_envs_apart),
    form(
        "bad_reply",
        "step",
        draw=_bad_replies,
        fits=lambda ground: bool(_told(ground, SOMEWHERE)),
        weight=OFTEN,
    ),
)
