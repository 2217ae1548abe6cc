"""Blocks whose faults strike items on their way, or the channels that they go through.

Where data goes through shared slots a step puts no item anywhere, so that these pools go by value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.payload import Stall
from harness.faults.primitive import CloseChannel, FillChannel
from harness.faults.transfer import (
    CutChannel,
    DelayTransfer,
    DropTransfer,
    DuplicateTransfer,
    FailTransfer,
    ReorderTransfer,
    TearTransfer,
    Transfer,
    TruncateTransfer,
    UnrebuildableItem,
)
from harness.generate.blocks_calls import farewells
from harness.generate.ground import (
    BARE,
    EDGES,
    EVERYWHERE,
    HEALED,
    HUNG_S,
    OFTEN,
    SELDOM,
    Form,
    Ground,
    Steps,
    able,
    form,
    going_on,
    receives_some_of_several,
)
from harness.model.scenario import Placement
from harness.ports.pool_verbs import Recv, Reset, Send, Shutdown, Step

DELAYED_S = 0.1
LOST_S = 0.2


def _struck(ground: Ground, cls: type[Transfer], times: int = 1) -> SearchStrategy[Any]:
    """Variants of a fault that so many steps of all envs come to.

    A step puts and gets one item an env at least: the driver one for each env, a worker one.
    """
    found: list[Any] = []
    for role in ("driver", *(f"worker:{env}" for env in ground.envs), "worker"):
        most = times * (ground.setup.num_envs if role == "driver" else 1)
        for k in range(1, most + 1):
            given = {"role": role, "k": k}
            if cls is DelayTransfer:
                given["seconds"] = DELAYED_S
            found += [f for f in ground.supported(cls, **given) if f.nonsense is None]
    return st.sampled_from(found)


@st.composite
def _unharmed(draw: DrawFn, ground: Ground, cls: type[DelayTransfer | DuplicateTransfer]) -> Steps:
    """What is late, or there twice, changes nothing in the steps that meet it, nor in a later one."""
    times = draw(st.integers(1, 2))
    fault = draw(_struck(ground, cls, times))
    healed = (HEALED,) if draw(st.booleans()) else ()
    return (fault, Step(times=times + draw(st.integers(0, 1))), *healed)


@st.composite
def _reordered(draw: DrawFn, ground: Ground) -> Steps:
    """Some command of one step goes out after the next one of the same step."""
    k = draw(st.integers(1, ground.setup.num_envs - 1))
    return (Reset(), ReorderTransfer(k=k), Step(times=draw(st.integers(1, 2))), HEALED)


@st.composite
def _broken(draw: DrawFn, ground: Ground, cls: type[Transfer]) -> Steps:
    """A step that meets a broken item raises; after it a reset and a step work, or say that it is over."""
    fault = draw(_struck(ground, cls))
    return (Step(), fault, Step(), *going_on(draw), *draw(farewells(ground)))


@st.composite
def _lost(draw: DrawFn, ground: Ground) -> Steps:
    """A receive waits in vain for an item that was lost; the results of the others can be had."""
    fault = draw(_struck(ground, DropTransfer))
    others: Steps = ()
    if receives_some_of_several(ground) and draw(st.booleans()):
        others = (Recv(min_get=ground.setup.num_envs - 1, timeout_s=2.0),)
    return (Step(), fault, Send(), Recv(timeout_s=LOST_S), *others, *draw(farewells(ground)))


@st.composite
def _worker_lost(draw: DrawFn, ground: Ground, cls: type[TearTransfer | CutChannel]) -> Steps:
    """A worker is lost where it puts its result."""
    times = draw(st.integers(1, ground.k_max))
    fault = draw(_struck(ground, cls, times))
    return (*ground.begun, fault, Step(times=fault.k), *draw(farewells(ground)))


@st.composite
def _closed(draw: DrawFn, ground: Ground) -> Steps:
    """A channel is closed just before a shutdown, or before a step, which then has to fail."""
    if "step" in ground.kinds and ground.setup.host != "collector" and draw(st.booleans()):
        fault = draw(st.sampled_from(ground.supported(CloseChannel)))
        return (Step(), fault, Step(), Shutdown())
    at = draw(st.sampled_from([None, Placement(role="driver", op="shutdown")]))
    fault = draw(st.sampled_from(ground.supported(CloseChannel, at=at)))
    return (fault, Shutdown())


@st.composite
def _filled(draw: DrawFn, ground: Ground) -> Steps:
    """A worker hangs behind a channel that takes no further command, and the shutdown has to end it."""
    env = draw(st.sampled_from(ground.envs))
    edge = draw(st.sampled_from(EDGES))
    stall = Stall(at=Placement(role=f"worker:{env}", op="step", edge=edge))
    fault = draw(st.sampled_from(ground.supported(FillChannel, worker=env)))
    return (*ground.begun, stall, Send(), Recv(timeout_s=LOST_S), fault, Shutdown(within_s=HUNG_S))


def _by_value(cls: type[Transfer]) -> Callable[[Ground], bool]:
    """Whether steps put items that this fault can strike."""

    def fits(ground: Ground) -> bool:
        roles = ("driver", "worker")
        every = [f for role in roles for f in ground.supported(cls, role=role)]
        return ground.setup.exchange == "value" and any(f.nonsense is None for f in every)

    return fits


def _several(ground: Ground) -> bool:
    return ground.setup.num_envs > 1 and _by_value(ReorderTransfer)(ground)


def _breaking(name: str, cls: type[Transfer]) -> Form:
    draw = partial(_broken, cls=cls)
    return form(name, "step", draw=draw, fits=_by_value(cls), weight=OFTEN)


def _losing(name: str, cls: type[TearTransfer | CutChannel]) -> Form:
    draw = partial(_worker_lost, cls=cls)
    return form(name, "step", draw=draw, fits=_by_value(cls), weight=OFTEN)


BLOCKS: tuple[Form, ...] = (
    form(
        "delay_transfer",
        "step",
        draw=lambda ground: _unharmed(ground, DelayTransfer),
        fits=_by_value(DelayTransfer),
    ),
    form(
        "duplicate_transfer",
        "step",
        draw=lambda ground: _unharmed(ground, DuplicateTransfer),
        fits=_by_value(DuplicateTransfer),
    ),
    # A host may ask some envs alone, after which a command is no more followed by the one counted on.
    form("reorder_transfer", "step", draw=_reordered, hosts=BARE, fits=_several),
)
ENDINGS: tuple[Form, ...] = (
    _breaking("fail_transfer", FailTransfer),
    _breaking("truncate_transfer", TruncateTransfer),
    _breaking("unrebuildable_item", UnrebuildableItem),
    _losing("tear_transfer", TearTransfer),
    _losing("cut_channel", CutChannel),
    form(
        "drop_transfer",
        "send",
        "recv",
        draw=_lost,
        hosts=BARE,
        fits=_by_value(DropTransfer),
        weight=OFTEN,
    ),
    form("close_channel", draw=_closed, hosts=EVERYWHERE, fits=able(CloseChannel)),
    form(
        "fill_channel",
        "stall",
        "send",
        "recv",
        draw=_filled,
        hosts=BARE,
        fits=able(FillChannel, worker=0),
        weight=SELDOM,
    ),
)
