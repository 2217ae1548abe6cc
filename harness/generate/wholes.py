"""Scenarios that no blocks make up: the pool cannot be built, or its first call is struck; or all is compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.payload import Exit, Raise
from harness.faults.process import Kill, Signal
from harness.faults.resources import FullSharedMemory, Limit
from harness.generate.blocks_calls import farewells, masks, shutdowns
from harness.generate.ground import EVERYWHERE, Form, Ground, Steps, form, in_processes
from harness.generate.setups import NUM_ENVS, declared
from harness.model.scenario import Placement
from harness.ports.entries import Compare, Entry
from harness.ports.pool import PoolCapabilities, PoolSetup
from harness.ports.pool_verbs import Reset, Shutdown, Step

NOFILE_SPARE = (3, 8)  # descriptors
AS_SPARE = (20, 40)  # MiB; with less what we do ourselves would fail
COMPARED_MAX = 6
COMPARED_HORIZON = 20  # no episode ends: what a step after that does is nobody's promise
MASKED = frozenset(
    {"reset", "private_reset", "async_reset", "async_step", "async_step_and_maybe_reset"}
)
HOSTED = frozenset({"specs", "reset", "step", "step_and_maybe_reset", "rand_action"})


@st.composite
def _unbuilt(draw: DrawFn, ground: Ground) -> Steps:
    """A worker fails while it makes its env, or in the first reset."""
    op = draw(st.sampled_from(["reset", "construct"]))
    kinds: list[type[Any]] = [Raise, Exit, Signal] if ground.processes else [Raise]
    at = Placement(role=draw(ground.worker()), op=op)
    faults = [f for cls in kinds for f in ground.supported(cls, at=at) if f.fault in ground.kinds]
    # What is not built cannot be left behind uncaught: only a call that failed can.
    end = draw(farewells(ground) if op == "reset" else shutdowns(ground))
    return (draw(st.sampled_from(faults)), Reset(), *end)


@st.composite
def _killed_first(draw: DrawFn, ground: Ground) -> Steps:
    """A worker is killed before the first reset."""
    worker = draw(st.sampled_from(ground.envs))
    return (Kill(worker=worker), Reset(), *draw(farewells(ground)))


@st.composite
def _limited(draw: DrawFn, ground: Ground) -> Steps:
    """The pool is built with little to spare, or its construction raises."""
    if ground.processes:
        fault = Limit(resource="nofile", spare=draw(st.integers(*NOFILE_SPARE)))
    else:
        fault = Limit(resource="as", spare=draw(st.integers(*AS_SPARE)))
    return (fault, Reset(), Shutdown())


def _without_room(ground: Ground) -> SearchStrategy[Steps]:
    stepped = (
        (Step(times=2),) if "step" in ground.kinds and ground.setup.host != "collector" else ()
    )
    return st.just((FullSharedMemory(), Reset(), *stepped, Shutdown()))


def _unused(ground: Ground) -> SearchStrategy[Steps]:
    return shutdowns(ground)


def entries(ground: Ground) -> list[Entry]:
    """The entry points that this row has, but for rollouts, which are compared alone."""
    every: tuple[Entry, ...] = get_args(Entry)
    there = [each for each in every if f"compare_{each}" in ground.capabilities.verbs]
    bare = ground.setup.host == "bare"
    return [each for each in there if each != "rollout" and (bare or each in HOSTED)]


@st.composite
def _compared(draw: DrawFn, ground: Ground) -> Steps:
    """Calls by name, from a reset of all on; each goes on from the one before."""
    found: list[Compare] = []
    for entry in (
        "reset",
        *draw(st.lists(st.sampled_from(entries(ground)), min_size=2, max_size=COMPARED_MAX)),
    ):
        masked = bool(found) and entry in MASKED and draw(st.booleans())
        mask = draw(masks(ground)) if masked else None
        overwrite = entry != "specs" and draw(st.booleans())
        found.append(Compare(entry=entry, mask=mask, overwrite=overwrite))
    return (*found, *draw(shutdowns(ground)))


def _rollout(_: Ground) -> SearchStrategy[Steps]:
    return st.just((Compare(entry="rollout"), Shutdown()))


def _fails(ground: Ground) -> bool:
    return "raise" in ground.kinds or (
        ground.processes and not ground.kinds.isdisjoint({"exit", "signal"})
    )


def _has(entry: str) -> Any:
    return lambda ground: f"compare_{entry}" in ground.capabilities.verbs


BEGINNINGS: tuple[Form, ...] = (
    form("shutdown", draw=_unused, lanes=True),
    form("reset", draw=_unbuilt, hosts=EVERYWHERE, fits=_fails),
    form("kill", draw=_killed_first, hosts=EVERYWHERE, fits=in_processes),
    form("limit", draw=_limited),
    form("full_shared_memory", draw=_without_room, hosts=EVERYWHERE),
)
COMPARISONS: tuple[Form, ...] = (
    form("compare", draw=_compared, fits=_has("reset")),
    form("compare", draw=_rollout, hosts=EVERYWHERE, fits=_has("rollout")),
)


def compared_setups(setup: PoolSetup, capabilities: PoolCapabilities) -> SearchStrategy[PoolSetup]:
    """The same pool over plain envs whose episodes do not end, with what only comparisons look at."""
    extras = ["none"] if setup.host == "collector" else declared("extras", capabilities)
    plain = replace(
        setup,
        payload="plain",
        num_envs=min(setup.num_envs, max(NUM_ENVS)),  # children of several envs have more
        horizon=COMPARED_HORIZON,
    )
    return st.builds(
        lambda extras, watch: replace(plain, extras=extras, watch=watch),
        st.sampled_from(extras),
        st.sampled_from(declared("watch", capabilities)),
    )
