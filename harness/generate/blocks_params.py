"""Blocks that change the parameters of running envs, and look at what is in force then."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.generate.ground import BARE, RARE, Form, Ground, PoolStep, Steps, form
from harness.ports.param_verbs import BuildAnew, ReadParams, SetParams, Via
from harness.ports.pool_verbs import Recv, Reset, Send, Step

LEVELS = st.integers(0, 3)
STEPS = st.integers(1, 3)


def vias(ground: Ground) -> list[Via]:
    """The ways to parameters that the backend has."""
    every: tuple[Via, ...] = get_args(Via)
    return [via for via in every if f"params_{via}" in ground.capabilities.verbs]


def _looks(ground: Ground) -> SearchStrategy[PoolStep]:
    """What shows the parameters in force: without one there is nothing to judge."""
    ways: list[PoolStep] = [Step()]
    if "read_params" in ground.kinds:
        ways += [ReadParams(via=via) for via in vias(ground) if via != "update"]
    return st.sampled_from(ways)


def _some(ground: Ground) -> SearchStrategy[tuple[int, ...] | None]:
    """All envs, or some of them in any order."""
    orders = st.lists(st.sampled_from(ground.envs), min_size=1, unique=True)
    return st.one_of(st.none(), orders.map(tuple))


@st.composite
def _switches(draw: DrawFn, ground: Ground) -> Steps:
    """Between two steps."""
    via = draw(st.sampled_from(vias(ground)))
    change = SetParams(level=draw(LEVELS), envs=draw(_some(ground)), via=via)
    return (change, draw(_looks(ground)))


@st.composite
def _switches_in_flight(draw: DrawFn, ground: Ground) -> Steps:
    """While steps are in flight: it is refused, or they end under what they began with."""
    via = draw(st.sampled_from(vias(ground)))
    change = SetParams(level=draw(LEVELS), envs=draw(_some(ground)), via=via, refusable=True)
    return (Send(), change, Recv(), draw(_looks(ground)))


@st.composite
def _switches_at_resets(draw: DrawFn, ground: Ground) -> Steps:
    """At each env's next reset, which comes with the end of its episode, or in the end."""
    change = SetParams(level=draw(LEVELS), envs=draw(_some(ground)), via="update", when="reset")
    return (change, Step(times=draw(STEPS)), Reset(), draw(_looks(ground)))


@st.composite
def _refusals(draw: DrawFn, ground: Ground) -> Steps:
    """One env does not take it, and keeps what it had."""
    refusing = draw(st.sampled_from(ground.envs))
    change = SetParams(level=draw(LEVELS), via="update", refused_by=refusing)
    return (change, draw(_looks(ground)))


@st.composite
def _built_anew(draw: DrawFn, ground: Ground) -> Steps:
    """What was changed is compared with what is built so."""
    via, level, times = draw(st.sampled_from(vias(ground))), draw(LEVELS), draw(STEPS)
    run = (Reset(), Step(times=times))
    return (SetParams(level=level, via=via), *run, BuildAnew(level=level), *run)


def _has(*names: Via) -> Callable[[Ground], bool]:
    return lambda ground: not set(names).isdisjoint(vias(ground))


def _comparable(ground: Ground) -> bool:
    """Whether an episode is as any other one, the first of a new pool included."""
    return bool(vias(ground)) and ground.setup.ends != "by_turns"


_ANY = _has(*get_args(Via))

BLOCKS: tuple[Form, ...] = (
    form("set_params", draw=_switches, fits=_ANY),
    form("set_params", "read_params", draw=_switches, fits=_has("attribute", "method")),
    form("set_params", "send", "recv", draw=_switches_in_flight, hosts=BARE, fits=_ANY),
    form("set_params", draw=_switches_at_resets, fits=_has("update")),
    form("set_params", draw=_refusals, fits=_has("update")),
    form("set_params", "build_anew", draw=_built_anew, fits=_comparable, weight=RARE),
)
