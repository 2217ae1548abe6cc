"""Blocks about what a whole cell has and uses: processor time, memory, descriptors, processors."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.payload import Stall
from harness.faults.resources import FullSharedMemory, Limit, OneProcessor
from harness.generate.blocks_calls import STEPS
from harness.generate.ground import HEALED, RARE, Form, Ground, Steps, form, in_processes
from harness.model.scenario import Phase
from harness.ports.pool_verbs import Idle, Mark, Rebuild, Reset, Shutdown, Step

SLOW_S = 1.4  # what is measured of it is more than the second that is judged
SPARE_MAX = 3
MARKED_STEPS = (10, 30)  # after so many the pool has what it needs
MARKED_REBUILDS = (2, 3)


def _quiet(ground: Ground) -> bool:
    """Whether nobody of ours works meanwhile."""
    return ground.setup.built != "among_threads"


def _idle(_: Ground) -> SearchStrategy[Steps]:
    return st.just((Idle(),))


@st.composite
def _slow(draw: DrawFn, ground: Ground) -> Steps:
    """An env takes its time; whoever waits for it uses none."""
    at = draw(ground.placement("step", ground.k_max))
    return (*ground.fresh, Stall(at=at, for_s=SLOW_S), Step(times=at.k))


@st.composite
def _marked(draw: DrawFn, ground: Ground) -> Steps:
    """The same work again and again: what all processes hold does not grow with it."""
    rebuilding = "rebuild" in ground.kinds and draw(st.booleans())
    cls, few_and_many = (Rebuild, MARKED_REBUILDS) if rebuilding else (Step, MARKED_STEPS)
    work = cls(times=draw(st.integers(*few_and_many)))
    after = (Reset(),) if rebuilding else ()
    return (work, Mark(), work, Mark(), work, Mark(), *after)


@st.composite
def _limited(draw: DrawFn, _: Ground) -> Steps:
    """Descriptors run short; once they are there again everything works."""
    spare = draw(st.integers(1, SPARE_MAX))
    times = draw(st.integers(1, 3))
    again = (Phase(phase="converge"), Reset(), Step())
    # What we ourselves need in the workers is there after a step.
    return (Step(), Limit(resource="nofile", spare=spare), Step(times=times), HEALED, *again)


@st.composite
def _pinned(draw: DrawFn, ground: Ground) -> Steps:
    """All that start from here on share a processor."""
    started = (Rebuild(), Reset()) if "rebuild" in ground.kinds and draw(st.booleans()) else ()
    return (OneProcessor(), *started, Step(times=draw(st.integers(1, 3))), HEALED)


@st.composite
def _without_room(draw: DrawFn, _: Ground) -> Steps:
    """Shared memory fills up: steps go on, or raise in time."""
    return (FullSharedMemory(), Step(times=draw(st.integers(1, 3))), Shutdown())


BLOCKS: tuple[Form, ...] = (
    form("idle", draw=_idle, fits=_quiet, lanes=True, weight=RARE),
    form("stall", "step", draw=_slow, fits=_quiet, weight=RARE),
    form("mark", "step", draw=_marked, fits=STEPS.possible, lanes=True, weight=RARE),
    form("limit", "step", draw=_limited, fits=in_processes),
    form("one_processor", "step", draw=_pinned, lanes=True),
)
ENDINGS: tuple[Form, ...] = (form("full_shared_memory", "step", draw=_without_room, lanes=True),)
