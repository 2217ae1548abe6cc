"""The port of replay storage: a ring of rows that writers fill and a learner samples.

What is written are arrays by name (`observation/pixels` lies in a group), whose first dimension counts the
rows of a batch; where a row is of several envs, they are the second. Each env of each writer is a *stream* of
elements, which are numbered from 1. Every element carries its stamp, stream and number, in every array
(`harness.payloads.stamps`), so that whoever reads it can tell who wrote it, and whether it is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Columns = Mapping[str, Any]
"""numpy arrays by name, all with the same leading dimensions: rows, and envs where a row is of several."""
RowDefect = Literal["missing_key", "shape", "dtype"]
ROWS: frozenset[str] = frozenset({"plain", "wide", "nested"})
DEFECTS: frozenset[RowDefect] = frozenset({"missing_key", "shape", "dtype"})
Until = Literal["stored", "held", "stopped"]
Rows = Literal["plain", "wide", "nested"]
Point = Literal["claim", "row", "commit", "read"]
Edge = Literal["before", "after", "within"]
EDGES: tuple[Edge, ...] = ("before", "after", "within")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSetup:
    """What is built before the first row.

    Attributes:
        num_workers: how many write, each rows of its own.
        writers: whether each is a process, or all are the driver itself.
        medium: where rows lie: in memory, or in a directory that can be opened again.
        start_method: how writers that are processes start.
        capacity: how many elements fit: rows times their width.
        dims: how many dimensions of a batch are the storage's: rows, or rows and envs.
        width: of how many envs a row is, where `dims` is 2.
        rows: a few numbers each; 64 kB each; groups of arrays of several types.
        sampler: one by one, whole pieces of trajectories, by priorities, or each once before any again.
        slice_len: of a piece.
        prefetch: how many samples are drawn ahead.
        ahead_size: how many elements each of those has: whoever draws them has to know.
        horizon: elements of a trajectory.
        start_within_s: deadline of construction in s.
    """

    num_workers: int = 2
    writers: Literal["process", "driver"] = "process"
    medium: Literal["memory", "disk"] = "memory"
    start_method: Literal["fork", "spawn", "forkserver"] = "fork"
    capacity: int = 24
    dims: Literal[1, 2] = 1
    width: int = 1
    rows: Rows = "plain"
    sampler: Literal["uniform", "slices", "prioritized", "epochs"] = "uniform"
    slice_len: int = 3
    prefetch: int = 0
    ahead_size: int = 4
    horizon: int = 5
    start_within_s: float = 30.0

    @property
    def row_count(self) -> int:
        """How many rows fit."""
        return self.capacity // (self.width if self.dims == 2 else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend:
    """A writer appends its next rows.

    Attributes:
        writer: which one.
        rows: how many.
        until: the call returns once the rows are stored; once a fault holds the writer; or once it has stopped.
    """

    writer: int = 0
    rows: int = 4
    until: Until = "stored"
    times: int = 1
    do: Literal["extend"] = "extend"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """Wait for what a writer has begun and nobody has waited for."""

    writer: int = 0
    do: Literal["collect"] = "collect"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceWriter:
    """Another process goes on where a writer has ended; it is told which rows come next."""

    writer: int = 0
    do: Literal["replace_writer"] = "replace_writer"
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Sample a batch.

    Attributes:
        size: how many elements.
        by: the driver, or a writer's process, which may end meanwhile.
    """

    size: int = 6
    by: Literal["driver", "worker:0", "worker:1"] = "driver"
    times: int = 1
    do: Literal["sample"] = "sample"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """All writers, started together, append batch after batch at once; the driver samples at full speed.

    Attributes:
        batches: of each writer.
        rows: of each batch.
        size: of each sample.
        sampled: whether the driver samples; if nobody reads, all processors are the writers'.
        meets: how many batches have to be under way while another writer's, or a sample, is: a race in which
            fewer do has shown nothing, and the cell is VACUOUS.
    """

    batches: int = 20
    rows: int = 4
    size: int = 6
    sampled: bool = True
    meets: int = 0
    do: Literal["race"] = "race"
    within_s: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAll:
    """Read everything that there is, in the order of its places."""

    do: Literal["read_all"] = "read_all"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPriorities:
    """Give what was sampled last priorities by where it lies; later rows have the highest."""

    do: Literal["set_priorities"] = "set_priorities"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """Drop all rows."""

    do: Literal["empty"] = "empty"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """Keep what there is in a directory of its own."""

    do: Literal["dump"] = "dump"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Bring back what was kept, into a storage that is built anew."""

    do: Literal["load"] = "load"
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopen:
    """All processes that have the storage let go of it, and it is opened again from where it lies.

    Attributes:
        how: writers end and the storage is closed; or they are killed, and nothing is closed.
    """

    how: Literal["closed", "killed"] = "closed"
    do: Literal["reopen"] = "reopen"
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """End the writers and close the storage."""

    do: Literal["shutdown"] = "shutdown"
    times: int = 1
    within_s: float = 5.0


StorageVerb = (
    Extend
    | Collect
    | ReplaceWriter
    | Sample
    | Race
    | ReadAll
    | SetPriorities
    | Empty
    | Dump
    | Load
    | Reopen
    | Shutdown
)
ALWAYS: frozenset[str] = frozenset(
    {"extend", "collect", "replace_writer", "sample", "race", "read_all", "shutdown"}
)
OPTIONAL: frozenset[str] = frozenset({"set_priorities", "empty", "dump", "load", "reopen"})
POINTS: frozenset[str] = frozenset({"claim", "row", "commit", "read"})
WORKER_OPS: frozenset[str] = frozenset({"extend", "sample", *POINTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """All that a storage holds.

    Attributes:
        length: what it says that it holds, in elements.
        slots: of each row that was read, where it lies.
        columns: the rows, every array of the type and shape in which it was written.
    """

    length: int
    slots: Sequence[int]
    columns: Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One sample.

    Attributes:
        slots: of each element the row's, and where a row is of several envs, which; None if it does not say.
        columns: the elements, one dimension, every array of the type in which it was written.
    """

    slots: Sequence[Sequence[int]] | None
    columns: Columns


class ReplayStorage(Protocol):
    """A storage as one process has it; writers inherit it, or get it among their arguments.

    One with bounds of its own may have `allow(deadline_s)`: it is told, before there are writers, within how many
    seconds those calls have to end that wait for others.
    """

    def extend(self, columns: Columns) -> None:
        """Append rows; returns when they can be read."""

    def sample(self, size: int) -> Sampled:
        """Draw so many elements; only the last ones of an epoch may be fewer, where `sampler` is `epochs`."""

    def read_all(self) -> Stored:
        """Everything."""

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Where in the backend's own code a writer or reader passes a point.

    Attributes:
        target: `module:Class.method`.
        edge: before it, after it, or half-way through `argument`, a sequence that it goes through.
        argument: number of that argument, `self` being 0.
        nth: of how many such calls within one call of the port.
    """

    target: str
    edge: Edge = "before"
    argument: int = 0
    nth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageCapabilities:
    """What a backend's storage can do.

    Attributes:
        verbs: those beyond `ALWAYS` that it has.
        setup: accepted values of each setup key; a key that is left out accepts its default only.
        worker_ops: operations at which a writer, or a reader, can be struck: points beside its calls.
        defects: of batches that can be put to it.
    """

    verbs: frozenset[str] = frozenset()
    setup: Mapping[str, frozenset[str | int]] = field(default_factory=dict)
    worker_ops: frozenset[str] = WORKER_OPS - POINTS
    defects: frozenset[RowDefect] = DEFECTS


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePort:
    """What an adapter module exports for replay storage.

    Attributes:
        capabilities: what it can do.
        make: builds a storage, or opens what lies in a directory (None: in memory).
        holds: where its points are, by their name.
    """

    capabilities: StorageCapabilities
    make: Callable[[StorageSetup, str | None], ReplayStorage]
    holds: Mapping[Point, Hold] = field(default_factory=dict)
