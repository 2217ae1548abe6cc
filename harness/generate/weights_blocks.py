"""The blocks that scenarios of weight sync are drawn from."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from harness.faults.owner import SignalOwner
from harness.faults.payload import BadWeights, Exit, Raise, Stall
from harness.faults.primitive import CloseChannel
from harness.faults.process import CollectCycle, Freeze, Kill, Signal, Stop
from harness.faults.resources import FullSharedMemory, Limit, OneProcessor
from harness.faults.sequence import HoldApply, HoldForward
from harness.faults.transfer import (
    CutChannel,
    DelayTransfer,
    DropTransfer,
    DuplicateTransfer,
    FailTransfer,
    ReorderTransfer,
    TearTransfer,
    TruncateTransfer,
    UnrebuildableItem,
)
from harness.model.plain import to_plain
from harness.model.scenario import Expected, Heal, Placement
from harness.ports.weights import Defect, Misuse, WeightsCapabilities, WeightsSetup
from harness.ports.weights_verbs import (
    Forward,
    Misused,
    Mutate,
    Race,
    RestartWorker,
    Send,
    SendAsync,
    SetUp,
    Shutdown,
    WaitAsync,
)

Steps = tuple[Any, ...]
LATE_S = 2.0  # of a send that somebody keeps from being answered
HEALED = Heal(heal="")  # the last fault's
LEFT = 0  # versions are given once the order of all blocks is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """What the blocks of one scenario stand on."""

    setup: WeightsSetup
    capabilities: WeightsCapabilities
    without: frozenset[str]

    def has(self, *words: str) -> bool:
        """Whether the backend declares all of these verbs and worker operations."""
        return set(words) <= self.capabilities.verbs | self.capabilities.worker_ops

    def able(self, *faults: Any) -> list[Any]:
        """Those of these faults that the row can have."""
        setup = to_plain(self.setup)
        return [
            each
            for each in faults
            if each.fault not in self.without
            and each.unsupported(setup, self.capabilities) is None
            and (each.placement is None or self._passes(each.placement))
        ]

    def worker(self, draw: DrawFn) -> int:
        """One of them."""
        return draw(st.integers(0, self.setup.num_workers - 1))

    def at(self, draw: DrawFn, op: str, *, edges: tuple[str, ...] = ("before",)) -> Placement:
        """A place at an operation of one of them."""
        edge: Any = draw(st.sampled_from(edges))
        return Placement(role=f"worker:{self.worker(draw)}", op=op, edge=edge)

    def _passes(self, at: Placement) -> bool:
        return at.role == "driver" or at.op in self.capabilities.worker_ops


Drawing = Callable[[DrawFn, Workers], Steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One kind of block.

    Attributes:
        name: in a few words.
        draw: draws its steps.
        possible: whether the row can have it.
        owes: what a correct backend owes.
        weight: how often an ending comes against the others.
    """

    name: str
    draw: Drawing
    possible: Callable[[Workers], bool] = lambda _: True
    owes: Expected = Expected.SURVIVES
    weight: int = 1


def _send(draw: DrawFn, workers: Workers) -> Send:
    how: Any = draw(st.sampled_from(("fresh", "in_place")))
    some = None
    if workers.has("send_some") and draw(st.booleans()):
        everybody = range(workers.setup.num_workers)
        some = tuple(sorted(draw(st.sets(st.sampled_from(everybody), min_size=1))))
    return Send(version=LEFT, how=how, workers=some)


def _sends(draw: DrawFn, workers: Workers) -> Steps:
    return (_send(draw, workers), Forward(times=draw(st.integers(1, 2))))


def _value_sends(draw: DrawFn, _: Workers) -> Steps:
    how: Any = draw(st.sampled_from(("fresh", "in_place")))
    return (Send(version=LEFT, how=how, model="value"), Forward())


def _mutations(_: DrawFn, __: Workers) -> Steps:
    return (Mutate(version=LEFT), Forward())


def _races(draw: DrawFn, _: Workers) -> Steps:
    return (Race(sends=draw(st.integers(1, 5))), Forward())


def _async_sends(draw: DrawFn, _: Workers) -> Steps:
    between = (Forward(),) if draw(st.booleans()) else ()
    return (SendAsync(version=LEFT), *between, WaitAsync(), Forward())


def _sets_up(draw: DrawFn, workers: Workers) -> Steps:
    everybody = range(1, workers.setup.num_workers + 1)
    return (SetUp(versions=tuple(draw(st.permutations(everybody)))),)


def _restarts(draw: DrawFn, workers: Workers) -> Steps:
    return (Send(version=LEFT), RestartWorker(worker=workers.worker(draw)), Forward())


def _misuses(draw: DrawFn, workers: Workers) -> Steps:
    every = [what for what in typing.get_args(Misuse) if workers.has(f"misuse_{what}")]
    return (Misused(what=draw(st.sampled_from(every))), Forward())


def _held_forwards(draw: DrawFn, workers: Workers) -> Steps:
    whiles: tuple[Send | Mutate, ...] = (Send(version=LEFT), Mutate(version=LEFT))
    during = draw(st.sampled_from(whiles))
    hold = HoldForward(at=workers.at(draw, "forward"), during=during, bound_s=0.2)
    return (hold, Forward(times=2), HEALED)


def _held_applies(draw: DrawFn, workers: Workers) -> Steps:
    op = draw(st.sampled_from(("apply", "half_apply")))
    whiles: tuple[Mutate | Forward, ...] = (Mutate(version=LEFT), Forward())
    during = draw(st.sampled_from(whiles))
    hold = HoldApply(at=workers.at(draw, op), during=during, bound_s=0.2)
    how: Any = draw(st.sampled_from(("fresh", "in_place")))
    return (hold, Send(version=LEFT, how=how), HEALED, Forward())


def _bad_weights(draw: DrawFn, _: Workers) -> Steps:
    bad = BadWeights(
        at=Placement(role="driver", op="send"),
        defect=draw(st.sampled_from(typing.get_args(Defect))),
    )
    return (bad, Send(version=LEFT), HEALED, Forward(), Send(version=LEFT), Forward())


def _failing_applies(draw: DrawFn, workers: Workers) -> Steps:
    op = draw(st.sampled_from(("apply", "half_apply")))
    edges = ("before", "after") if op == "apply" else ("before",)
    fault = Raise(at=workers.at(draw, op, edges=edges))
    return (fault, Send(version=LEFT), HEALED, Forward(), Send(version=LEFT), Forward())


def _late(draw: DrawFn, workers: Workers, faults: list[Any]) -> Steps:
    """Somebody keeps a send from being answered; the next one works."""
    late = Send(version=LEFT, within_s=LATE_S)
    return (draw(st.sampled_from(workers.able(*faults))), late, HEALED, late, Forward())


def _holding_workers(draw: DrawFn, workers: Workers) -> Steps:
    at = workers.at(draw, "apply", edges=("before", "after"))
    freeze = Freeze(worker=workers.worker(draw))
    return _late(draw, workers, [Stall(at=at), Stop(at=at), freeze])


def _acks(draw: DrawFn, workers: Workers) -> dict[str, Any]:
    return {"channel": "results", "role": f"worker:{workers.worker(draw)}"}


def _losing_items(draw: DrawFn, workers: Workers) -> Steps:
    faults = [
        DropTransfer(channel="commands", role="driver"),
        FailTransfer(channel="commands", role="driver"),
        DropTransfer(**_acks(draw, workers)),
    ]
    return _late(draw, workers, faults)


def _odd_items(draw: DrawFn, workers: Workers) -> Steps:
    faults = [
        DelayTransfer(channel="commands", role="driver"),
        DelayTransfer(**_acks(draw, workers)),
        DuplicateTransfer(channel="commands", role="driver"),
        DuplicateTransfer(**_acks(draw, workers)),
    ]
    if workers.setup.num_workers > 1:
        faults.append(ReorderTransfer())
    found = draw(st.sampled_from(workers.able(*faults)))
    return (found, Send(version=LEFT), Forward(), HEALED, Send(version=LEFT), Forward())


def _scarcities(draw: DrawFn, workers: Workers) -> Steps:
    faults = (Limit(resource="nofile", spare=2), FullSharedMemory(), OneProcessor())
    found = draw(st.sampled_from(workers.able(*faults)))
    return (found, Send(version=LEFT), Forward(), HEALED, Send(version=LEFT), Forward())


def _fatal(draw: DrawFn, workers: Workers) -> list[Any]:
    at = workers.at(draw, "apply", edges=("before", "after"))
    acks = _acks(draw, workers)
    commands: dict[str, Any] = {"channel": "commands", "role": "driver"}
    return workers.able(
        Kill(worker=workers.worker(draw)),
        Signal(at=at),
        Exit(at=at, how="os_exit"),
        CloseChannel(channel="results", how="public"),
        CloseChannel(channel="results", how="reader"),
        TearTransfer(role=acks["role"]),
        # Workers that were forked before another was have a copy of its end, so that nobody sees it close.
        CutChannel(role="worker:0"),
        TruncateTransfer(**acks),
        UnrebuildableItem(**acks),
        TruncateTransfer(**commands),
        UnrebuildableItem(**commands),
    )


def _losing_ends(draw: DrawFn, workers: Workers) -> Steps:
    found = draw(st.sampled_from(_fatal(draw, workers)))
    return (Forward(), found, Send(version=LEFT, within_s=LATE_S), Shutdown())


def _killed_owners(_: DrawFn, __: Workers) -> Steps:
    struck = SignalOwner(at=Placement(role="driver", op="send"))
    return (Forward(), Send(version=LEFT), struck, Send(version=LEFT))


def _collections(_: DrawFn, __: Workers) -> Steps:
    return (Forward(), CollectCycle())


def _applies(workers: Workers) -> bool:
    return workers.has("apply", "half_apply")


def _counts(workers: Workers) -> bool:
    return bool(workers.capabilities.transfers.get(workers.setup.transport))


def _in_processes(workers: Workers) -> bool:
    return workers.setup.transport == "process"


PLAIN = Block(name="shutdown", draw=lambda _, __: (Forward(), Shutdown()))
BLOCKS = (
    Block(name="sends", draw=_sends),
    Block(name="mutations", draw=_mutations),
    Block(name="races", draw=_races),
    Block(
        name="async sends", draw=_async_sends, possible=lambda w: w.has("send_async", "wait_async")
    ),
    Block(name="sets_up", draw=_sets_up, possible=lambda w: w.has("set_up")),
    Block(name="restarts", draw=_restarts, possible=lambda w: w.has("restart_worker")),
    Block(
        name="misuses",
        draw=_misuses,
        possible=lambda w: any(verb.startswith("misuse_") for verb in w.capabilities.verbs),
    ),
    Block(
        name="value networks",
        draw=_value_sends,
        possible=lambda w: w.setup.models == "policy_and_value",
    ),
    Block(name="held forwards", draw=_held_forwards),
    Block(name="held applies", draw=_held_applies, possible=_applies),
    Block(name="bad weights", draw=_bad_weights, owes=Expected.RECOVERS),
    Block(name="failing applies", draw=_failing_applies, possible=_applies, owes=Expected.RECOVERS),
    Block(
        name="held workers",
        draw=_holding_workers,
        possible=lambda w: _applies(w) or _in_processes(w),
        owes=Expected.RECOVERS,
    ),
    Block(name="lost items", draw=_losing_items, possible=_counts, owes=Expected.RECOVERS),
    Block(name="odd items", draw=_odd_items, possible=_counts),
    Block(name="scarcities", draw=_scarcities, owes=Expected.RECOVERS),
)
ENDINGS = (
    Block(
        name="a lost worker",
        draw=_losing_ends,
        possible=_in_processes,
        owes=Expected.FAILS_BOUNDED,
        weight=4,
    ),
    Block(name="a killed owner", draw=_killed_owners, possible=_in_processes),
    Block(
        name="a collection", draw=_collections, possible=lambda w: w.capabilities.closes_by_itself
    ),
)
