"""Blocks in which pools come and go: one after the other, or a second one beside the first."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.process import CollectCycle
from harness.generate.blocks_calls import EXCHANGES, STEPS, shutdowns
from harness.generate.derive import drawn
from harness.generate.ground import EVERYWHERE, Form, Ground, Steps, able, form, steps_of
from harness.ports.pool_verbs import (
    CloseBeside,
    OpenBeside,
    Rebuild,
    Recv,
    Replace,
    Reset,
    Send,
    Step,
)


def _replacements(_: Ground) -> SearchStrategy[Steps]:
    return st.just((Replace(), Reset()))


def _rebuilds(_: Ground) -> SearchStrategy[Steps]:
    return steps_of(drawn(Rebuild), st.just(Reset()))


def _collections(ground: Ground) -> SearchStrategy[Steps]:
    """The collection falls at its own step: only there it does not depend on the machine's speed."""
    faults = st.sampled_from(ground.supported(CollectCycle))
    return steps_of(faults, drawn(Replace), st.just(Reset()))


@st.composite
def _seconds(draw: DrawFn, ground: Ground) -> Steps:
    """A second pool is there for a while, in which the first may work, or have steps in flight."""
    between: list[tuple[Steps, Steps]] = [((), ())]
    if STEPS.possible(ground):
        between.append(((Step(),), (Step(),)))
    if EXCHANGES.possible(ground):
        between.append(((Send(),), (Recv(),)))
    meanwhile, after = draw(st.sampled_from(between))
    return (OpenBeside(), *meanwhile, CloseBeside(), *after)


@st.composite
def _outlived(draw: DrawFn, ground: Ground) -> Steps:
    """The second pool is closed after the first."""
    return (OpenBeside(), *draw(shutdowns(ground)), CloseBeside())


BLOCKS: tuple[Form, ...] = (
    form("replace", draw=_replacements, hosts=EVERYWHERE, lanes=True),
    form("rebuild", draw=_rebuilds, lanes=True),
    form("open_beside", "close_beside", draw=_seconds, hosts=EVERYWHERE),
    form("collect_cycle", "replace", draw=_collections, hosts=EVERYWHERE, fits=able(CollectCycle)),
)
ENDINGS: tuple[Form, ...] = (form("open_beside", "close_beside", draw=_outlived, hosts=EVERYWHERE),)
