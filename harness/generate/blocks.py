"""Blocks that scenarios of the pool are drawn from.

A block finds every env reset and idle, and leaves it so; an ending shuts the pool down. So any
sequence of blocks with one ending is a valid scenario, and stays one while it is shrunk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.payload import Exit, Raise, Stall
from harness.faults.primitive import CloseChannel
from harness.faults.process import CollectCycle, Kill, Signal, Stop
from harness.faults.transfer import DelayTransfer
from harness.generate.derive import drawn
from harness.generate.ground import Form, Ground, Steps
from harness.model.scenario import Heal, Phase, Placement
from harness.ports.pool_verbs import (
    CloseBeside,
    OpenBeside,
    Recv,
    Replace,
    Reset,
    ResetWhere,
    Rollout,
    Seed,
    Send,
    Shutdown,
    Step,
)

SEED_MAX = 2  # neighbours, and few enough for one to come again
STALLED_S = (0.1, 0.2)  # long enough for envs that do answer, short enough for many examples
HEALTHY_S = (None, 2.0)
DELAYED_S = 0.1

BARE = frozenset({"bare"})  # what is sent goes to the pool itself, past its host
COLLECTOR = frozenset({"collector"})
EVERYWHERE = frozenset({"bare", "transformed", "collector"})


def _of(*steps: SearchStrategy[Any]) -> SearchStrategy[Steps]:
    return st.tuples(*steps)


def _resets(_: Ground) -> SearchStrategy[Steps]:
    return _of(drawn(Reset))


def _partial_resets(ground: Ground) -> SearchStrategy[Steps]:
    return _of(drawn(ResetWhere, mask=_masks(ground)))


def _masks(ground: Ground, among: frozenset[int] = frozenset()) -> SearchStrategy[tuple[bool, ...]]:
    """Masks that name some env; one of `among` if there are any."""
    envs = range(ground.setup.num_envs)
    wanted = among or frozenset(envs)
    masks = st.tuples(*(st.booleans() for _ in envs))
    certain = st.sampled_from(sorted(wanted))
    return st.builds(
        lambda mask, env: tuple(one or i == env for i, one in enumerate(mask)), masks, certain
    )


def _steps(_: Ground) -> SearchStrategy[Steps]:
    return _of(drawn(Step))


def _exchanges(_: Ground) -> SearchStrategy[Steps]:
    return _of(drawn(Send), drawn(Recv, timeout_s=st.sampled_from(HEALTHY_S)))


def _rollouts(ground: Ground) -> SearchStrategy[Steps]:
    return _of(drawn(Rollout, frames=st.just(ground.frames)))


def _seedings(_: Ground) -> SearchStrategy[Steps]:
    """What the envs draw is told at the reset that follows."""
    return _of(drawn(Seed, value=st.integers(0, SEED_MAX)), st.just(Reset()))


def _replacements(_: Ground) -> SearchStrategy[Steps]:
    return st.just((Replace(), Reset()))


def _seconds(_: Ground) -> SearchStrategy[Steps]:
    return st.just((OpenBeside(), CloseBeside()))


def _collections(ground: Ground) -> SearchStrategy[Steps]:
    """The collection falls at its own step: only there it does not depend on the machine's speed."""
    faults = st.sampled_from(ground.supported(CollectCycle))
    return _of(faults, drawn(Replace), st.just(Reset()))


@st.composite
def _delays(draw: DrawFn, ground: Ground) -> Steps:
    """A step puts and gets at least one item an env, each on the channel that is meant for it."""
    k = draw(st.integers(1, ground.setup.num_envs))
    faults = ground.supported(DelayTransfer, k=k, seconds=DELAYED_S)
    return (
        draw(st.sampled_from([fault for fault in faults if _is_used(fault)])),
        draw(drawn(Step)),
    )


def _is_used(fault: DelayTransfer) -> bool:
    """Whether the driver has such transfers: it gets results."""
    return fault.channel == "results"


def _placements(ground: Ground, op: str, k_max: int = 1) -> SearchStrategy[Placement]:
    roles = [*(f"worker:{env}" for env in range(ground.setup.num_envs)), "worker"]
    # The probe env asks the gate before each of its operations, and after a step.
    edges = ("before", "after") if op == "step" else ("before",)
    return drawn(
        Placement,
        role=st.sampled_from(roles),
        op=st.just(op),
        k=st.integers(1, k_max),
        edge=st.sampled_from(edges),
    )


@st.composite
def _held(
    draw: DrawFn, ground: Ground, late: SearchStrategy[Recv], cls: type[Stall | Stop] = Stall
) -> Steps:
    """A send that meets a stall or a stop, a receive that is kept waiting, and the end of it."""
    at = draw(_placements(ground, "step", ground.k_max if "step" in ground.kinds else 1))
    before = (Step(times=at.k - 1),) if at.k > 1 else ()
    return (*ground.fresh, cls(at=at), *before, Send(), draw(late), Heal(heal=""))


@st.composite
def _stalls(draw: DrawFn, ground: Ground, cls: type[Stall | Stop]) -> Steps:
    """All results are asked for in vain, and come once the env goes on."""
    held = draw(_held(ground, drawn(Recv, timeout_s=st.sampled_from(STALLED_S)), cls))
    converging = (Phase(phase="converge"),) if draw(st.booleans()) else ()
    return (*held, Recv(), *converging)


def _shutdowns(_: Ground) -> SearchStrategy[Steps]:
    return _of(drawn(Shutdown, thread=st.booleans()))


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
    return (*draw(_held(ground, late, cls)), Recv(min_get=1), Shutdown())


@st.composite
def _failures(draw: DrawFn, ground: Ground, cls: type[Raise | Exit | Signal]) -> Steps:
    """A worker fails in an operation; the same kind of call has worked before."""
    op = draw(st.sampled_from(["step", "reset"] if _ways(ground) else ["reset"]))
    at = draw(_placements(ground, op, ground.k_max))
    if op == "reset":
        at = Placement(role=at.role, op=op, edge=at.edge)
    first, meeting = draw(_meetings(ground, at))
    fault = draw(st.sampled_from(ground.supported(cls, at=at)))
    return (*ground.fresh, *first, fault, *meeting, Shutdown())


def _killed_idle(ground: Ground) -> SearchStrategy[Steps]:
    """A worker is killed while nobody calls; the next reset has to tell."""
    envs = range(ground.setup.num_envs)
    faults = [fault for env in envs for fault in ground.supported(Kill, worker=env)]
    return st.sampled_from(faults).map(lambda fault: (fault, Reset(), Shutdown()))


@st.composite
def _failing_closes(draw: DrawFn, ground: Ground) -> Steps:
    """A worker that fails while its env is closed; in the pool's own process that may be reported."""
    roles = st.sampled_from([*(f"worker:{env}" for env in range(ground.setup.num_envs)), "worker"])
    at = Placement(role=draw(roles), op="close")
    kinds: list[type[Any]] = [Raise, Exit, Signal]
    faults = [f for cls in kinds for f in ground.supported(cls, at=at) if f.fault in ground.kinds]
    return (draw(st.sampled_from(faults)), Shutdown())


def _closes_envs_apart(ground: Ground) -> bool:
    wanted = not ground.kinds.isdisjoint({"raise", "exit", "signal"})
    return wanted and ground.setup.transport == "process"


def _ways(ground: Ground) -> list[str]:
    """How the envs can be made to step."""
    forms = {"step": STEPS, "send": EXCHANGES, "rollout": ROLLOUTS}
    return [way for way, form in forms.items() if form.possible(ground)]


def _meetings(ground: Ground, at: Placement) -> SearchStrategy[tuple[Steps, Steps]]:
    """Calls of one kind: one to come before a fault is armed, and those that then come to it."""
    if at.op == "reset":
        return st.one_of(*_resetting(ground, at))
    return st.sampled_from([_stepping(ground, way, at.k) for way in _ways(ground)])


def _resetting(ground: Ground, at: Placement) -> list[SearchStrategy[tuple[Steps, Steps]]]:
    whole: tuple[Steps, Steps] = ((), (Reset(),))
    found = [st.just(whole)]
    if PARTIAL_RESETS.possible(ground):
        index = at.role.partition(":")[2]
        among = frozenset({int(index)}) if index else frozenset[int]()
        meeting = _of(drawn(ResetWhere, mask=_masks(ground, among)))
        found.append(st.tuples(_partial_resets(ground), meeting))
    return found


def _stepping(ground: Ground, way: str, k: int) -> tuple[Steps, Steps]:
    match way:
        case "step":
            return (Step(),), (Step(times=k),)
        case "send":
            return (Send(), Recv()), (*(Send(), Recv()) * (k - 1), Send(), Recv())
        case _:
            return (Rollout(frames=ground.frames),), (Rollout(frames=ground.frames),)


@st.composite
def _closed_channels(draw: DrawFn, ground: Ground) -> Steps:
    """A channel is closed just before a shutdown, or before a step, which then has to fail."""
    if "step" in ground.kinds and ground.setup.host != "collector" and draw(st.booleans()):
        fault = draw(st.sampled_from(ground.supported(CloseChannel)))
        return (Step(), fault, Step(), Shutdown())
    at = draw(st.sampled_from([None, Placement(role="driver", op="shutdown")]))
    fault = draw(st.sampled_from(ground.supported(CloseChannel, at=at)))
    return (fault, Shutdown())


def _can_have(cls: type[Any]) -> Callable[[Ground], bool]:
    return lambda ground: bool(ground.supported(cls))


def _can_have_failing(cls: type[Any]) -> Callable[[Ground], bool]:
    somewhere = Placement(role="worker", op="reset")
    return lambda ground: bool(ground.supported(cls, at=somewhere))


def _receives_some(ground: Ground) -> bool:
    return "recv_some" in ground.capabilities.verbs


def _receives_some_of_several(ground: Ground) -> bool:
    return _receives_some(ground) and ground.setup.num_envs > 1


def _form(*needs: str, draw: Callable[[Ground], SearchStrategy[Steps]], **rest: Any) -> Form:
    return Form(needs=frozenset(needs), draw=draw, **rest)


PARTIAL_RESETS = _form("reset_where", draw=_partial_resets)
STEPS = _form("step", draw=_steps)
EXCHANGES = _form("send", "recv", draw=_exchanges, hosts=BARE)
ROLLOUTS = _form("rollout", draw=_rollouts, hosts=COLLECTOR)

BLOCKS: tuple[Form, ...] = (
    STEPS,
    _form("reset", draw=_resets),
    PARTIAL_RESETS,
    EXCHANGES,
    ROLLOUTS,
    _form("seed", draw=_seedings),
    _form("replace", draw=_replacements, hosts=EVERYWHERE),
    _form("open_beside", "close_beside", draw=_seconds, hosts=EVERYWHERE),
    _form("stall", "send", "recv", draw=lambda ground: _stalls(ground, Stall), hosts=BARE),
    _form(
        "stop",
        "send",
        "recv",
        draw=lambda ground: _stalls(ground, Stop),
        hosts=BARE,
        fits=_can_have_failing(Stop),
    ),
    _form(
        "collect_cycle",
        "replace",
        draw=_collections,
        hosts=EVERYWHERE,
        fits=_can_have(CollectCycle),
    ),
    _form(
        "delay_transfer",
        "step",
        draw=_delays,
        # What lies in shared slots rings a doorbell, and those cannot be told from one another.
        fits=lambda ground: (
            ground.setup.exchange == "value" and any(map(_is_used, ground.supported(DelayTransfer)))
        ),
    ),
)
ENDINGS: tuple[Form, ...] = (
    _form("shutdown", draw=_shutdowns, hosts=EVERYWHERE),
    _form("send", "recv", draw=_partial_receives, hosts=BARE, fits=_receives_some),
    _form(
        "stall",
        "send",
        "recv",
        draw=lambda ground: _partial_receives_of_held(ground, Stall),
        hosts=BARE,
        fits=_receives_some_of_several,
    ),
    _form(
        "stop",
        "send",
        "recv",
        draw=lambda ground: _partial_receives_of_held(ground, Stop),
        hosts=BARE,
        fits=lambda ground: _receives_some_of_several(ground) and _can_have_failing(Stop)(ground),
    ),
    _form(
        "raise",
        draw=lambda ground: _failures(ground, Raise),
        hosts=EVERYWHERE,
        fits=_can_have_failing(Raise),
    ),
    _form(
        "signal",
        draw=lambda ground: _failures(ground, Signal),
        hosts=EVERYWHERE,
        fits=_can_have_failing(Signal),
    ),
    _form("kill", draw=_killed_idle, hosts=EVERYWHERE, fits=_can_have(Kill)),
    _form(
        "exit",
        draw=lambda ground: _failures(ground, Exit),
        hosts=EVERYWHERE,
        fits=_can_have_failing(Exit),
    ),
    _form("shutdown", draw=_failing_closes, hosts=EVERYWHERE, fits=_closes_envs_apart),
    _form(
        "close_channel",
        draw=_closed_channels,
        hosts=EVERYWHERE,
        fits=_can_have(CloseChannel),
    ),
)
