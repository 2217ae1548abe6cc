"""Valid scenarios of replay storage, drawn by Hypothesis.

A block finds rows to sample, every writer alive and nothing under way, and leaves it so. Any blocks with the
shutdown are a scenario, and stay one while it is shrunk.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from harness.faults.payload import Stall
from harness.faults.process import Kill, Signal, Stop
from harness.faults.resources import FullDisk, FullSharedMemory
from harness.faults.rows import BadRows
from harness.generate.derive import subsets
from harness.generate.weights import placed
from harness.model.plain import to_plain
from harness.model.scenario import Expect, Expected, Heal, Placement, Scenario
from harness.ports.storage import (
    Collect,
    Dump,
    Empty,
    Extend,
    Load,
    Race,
    ReadAll,
    Reopen,
    ReplaceWriter,
    RowDefect,
    Sample,
    SetPriorities,
    Shutdown,
    StorageCapabilities,
    StorageSetup,
)

Steps = tuple[Any, ...]
BLOCKS_MAX = 5
LEFT_OUT_MAX = 6
PIECES = Extend(rows=10)  # two whole trajectories: pieces of at least one can be drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What the blocks of one scenario stand on."""

    setup: StorageSetup
    capabilities: StorageCapabilities
    without: frozenset[str]

    def has(self, *verbs: str) -> bool:
        return set(verbs) <= self.capabilities.verbs

    def able(self, *faults: Any) -> list[Any]:
        """Those of these faults that the row can have."""
        setup, ops = to_plain(self.setup), self.capabilities.worker_ops
        return [
            each
            for each in faults
            if each.fault not in self.without
            and each.unsupported(setup, self.capabilities) is None
            and (each.placement is None or each.placement.op in ops | {"driver", "extend"})
        ]

    def writer(self, draw: DrawFn) -> int:
        return draw(st.integers(0, self.setup.num_workers - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    name: str
    draw: Callable[[DrawFn, _Row], Steps]
    possible: Callable[[_Row], bool] = lambda _: True
    owes: Expected = Expected.SURVIVES


def _writes(draw: DrawFn, row: _Row) -> Steps:
    rows, times = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    return (Extend(writer=row.writer(draw), rows=rows, times=times), ReadAll())


def _samples(draw: DrawFn, _: _Row) -> Steps:
    return (PIECES, Sample(size=12, times=draw(st.integers(1, 3))))


def _races(draw: DrawFn, _: _Row) -> Steps:
    batches, rows = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    return (PIECES, Race(batches=batches, rows=rows), ReadAll())


def _kills(draw: DrawFn, row: _Row) -> Steps:
    writer, rows = row.writer(draw), draw(st.integers(1, 8))
    places = [
        Placement(role=f"worker:{writer}", op=op) for op in ("extend", "claim", "row", "commit")
    ]
    faults = [Kill(worker=writer), *(Signal(at=at) for at in places)]
    found = draw(st.sampled_from(row.able(*faults)))
    read = () if isinstance(found, Kill) else (Extend(writer=writer, rows=rows), ReadAll())
    more = Extend(writer=writer, rows=draw(st.integers(1, 30)))
    return (found, *read, ReplaceWriter(writer=writer), more, ReadAll(), PIECES, Sample(size=6))


def _stops(draw: DrawFn, row: _Row) -> Steps:
    at = [Placement(role="worker:0", op=op) for op in ("extend", "claim", "row", "commit")]
    kinds: tuple[Any, ...] = (Stop, Stall)
    found = draw(st.sampled_from(row.able(*(kind(at=each) for each in at for kind in kinds))))
    until: Any = "stopped" if isinstance(found, Stop) else "held"
    others = (Extend(writer=1, rows=6),) if row.setup.num_workers > 1 else ()
    held = Extend(rows=draw(st.integers(1, 6)), until=until)
    return (found, held, ReadAll(), *others, Heal(heal=""), Collect(), ReadAll())


def _killed_readers(_: DrawFn, __: _Row) -> Steps:
    struck = Signal(at=Placement(role="worker:0", op="read"))
    asked = Sample(size=6, by="worker:0")
    return (PIECES, struck, asked, ReplaceWriter(), PIECES, Sample(size=6), ReadAll())


def _bad_rows(draw: DrawFn, row: _Row) -> Steps:
    at = Placement(role="driver", op="extend")
    faults = [BadRows(at=at, defect=each) for each in typing.get_args(RowDefect)]
    found = draw(st.sampled_from(row.able(*faults)))
    return (found, Extend(rows=3), ReadAll(), Extend(rows=3), ReadAll())


def _priorities(_: DrawFn, __: _Row) -> Steps:
    return (Sample(size=6), SetPriorities(), PIECES, Sample(size=6))


def _emptied(draw: DrawFn, row: _Row) -> Steps:
    return (Empty(), ReadAll(), Extend(writer=row.writer(draw), rows=3), ReadAll(), PIECES)


def _loads(draw: DrawFn, row: _Row) -> Steps:
    more = Extend(writer=row.writer(draw), rows=draw(st.integers(1, 20)))
    return (Dump(), more, Load(), ReadAll(), more, ReadAll(), PIECES)


def _reopened(draw: DrawFn, row: _Row) -> Steps:
    how: Any = draw(st.sampled_from(("closed", "killed")))
    return (Reopen(how=how), ReadAll(), Extend(writer=row.writer(draw)), ReadAll(), PIECES)


def _scarcities(draw: DrawFn, row: _Row) -> Steps:
    found = draw(st.sampled_from(row.able(FullSharedMemory(), FullDisk())))
    return (found, Extend(rows=30), ReadAll(), Heal(heal=""), Extend(rows=3), ReadAll(), PIECES)


def _in_processes(row: _Row) -> bool:
    return row.setup.writers == "process"


_PLAIN = _Block(name="shutdown", draw=lambda _, __: (ReadAll(), Shutdown()))
_BLOCKS = (
    _Block(name="writes", draw=_writes),
    _Block(name="samples", draw=_samples),
    _Block(
        name="races",
        draw=_races,
        possible=lambda r: _in_processes(r) and r.setup.sampler == "uniform",
    ),
    _Block(name="killed writers", draw=_kills, possible=_in_processes),
    _Block(name="held writers", draw=_stops, possible=_in_processes),
    _Block(
        name="killed readers",
        draw=_killed_readers,
        possible=lambda r: _in_processes(r) and "read" in r.capabilities.worker_ops,
    ),
    _Block(name="bad rows", draw=_bad_rows, possible=lambda r: bool(r.capabilities.defects)),
    _Block(
        name="priorities",
        draw=_priorities,
        possible=lambda r: r.has("set_priorities") and r.setup.sampler == "prioritized",
    ),
    _Block(name="emptied", draw=_emptied, possible=lambda r: r.has("empty")),
    _Block(name="loads", draw=_loads, possible=lambda r: r.has("dump", "load")),
    _Block(
        name="reopened",
        draw=_reopened,
        possible=lambda r: r.has("reopen") and r.setup.medium == "disk",
    ),
    _Block(
        name="scarcities",
        draw=_scarcities,
        possible=lambda r: bool(r.able(FullSharedMemory(), FullDisk())),
        owes=Expected.RECOVERS,
    ),
)


@st.composite
def storage_setups(draw: DrawFn, capabilities: StorageCapabilities) -> StorageSetup:
    """Setups of few rows, in words that the backend declares."""

    def word(key: str, default: str | int) -> Any:
        return draw(st.sampled_from(sorted(capabilities.setup.get(key, {default}), key=str)))

    dims = word("dims", 1)
    width = draw(st.integers(1, 3)) if dims == 2 else 1
    samplers = capabilities.setup.get("sampler", {"uniform"}) - {"epochs"}
    return StorageSetup(
        num_workers=draw(st.integers(1, 3)),
        writers=word("writers", "process"),
        medium=word("medium", "memory"),
        rows=draw(st.sampled_from(sorted(capabilities.setup.get("rows", {"plain"}) - {"wide"}))),
        capacity=width * draw(st.integers(13, 40)),
        dims=dims,
        width=width,
        sampler=draw(st.sampled_from(sorted(samplers, key=str))) if dims == 1 else "uniform",
    )


@st.composite
def storage_scenarios(
    draw: DrawFn, capabilities: StorageCapabilities, *, without: frozenset[str] = frozenset()
) -> Scenario[StorageSetup, Any]:
    """Scenarios that a backend with these capabilities can run and a correct one passes.

    Args:
        draw: Hypothesis's.
        capabilities: what the backend declares.
        without: verbs and faults that this machine cannot have.
    """
    setup = draw(storage_setups(capabilities))
    row = _Row(setup=setup, capabilities=capabilities, without=without)
    there = draw(subsets(frozenset(block.name for block in _BLOCKS), LEFT_OUT_MAX))
    possible = [block for block in _BLOCKS if block.name in there and block.possible(row)]
    chosen: list[_Block] = []
    if possible:
        chosen = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=BLOCKS_MAX))
    steps = [PIECES, *(step for block in (*chosen, _PLAIN) for step in block.draw(draw, row))]
    expected = max((b.owes for b in (*chosen, _PLAIN)), key=tuple(Expected).index)
    return Scenario(
        title=f"A storage meets {', '.join(block.name for block in (*chosen, _PLAIN))}",
        component="storage",
        setup=setup,
        steps=_numbered(steps),
        expect=Expect(outcome=expected),
    )


def _numbered(steps: Iterable[Any]) -> Steps:
    """Faults have ids, and a place among the driver's calls counts those before its block."""
    found: list[Any] = []
    count = 0
    for step in steps:
        made: Any = step
        if hasattr(made, "fault"):
            count += 1
            made = replace(placed(made, found), id=f"f{count}")
        elif isinstance(made, Heal):
            made = Heal(heal=f"f{count}")
        found.append(made)
    return tuple(found)
