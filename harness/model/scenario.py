"""A scenario is data: what is set up, what is done, which faults strike, what is expected."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

SetupT = TypeVar("SetupT")
StepT = TypeVar("StepT")

Value = str | int | float | bool

NAME_MAX = 180  # characters of a slug: with what is put around it file systems take it, up to 255


class Expected(StrEnum):
    """What a backend owes its user under the scenario's faults."""

    SURVIVES = "survives"
    """Every call that its caller lives to see the end of is ok, and so is close."""
    RECOVERS = "recovers"
    """Calls may fail in time and attributed while the fault lasts; after heal all are ok."""
    FAILS_BOUNDED = "fails-bounded"
    """The call that a fault hits raises in time, with the fault's cause; what comes before it, and close, are ok.

    After the close a call of a pool, or of weights, fails: no success, and no answer to a fault.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The k-th hit of an operation by a role: a worker's from when the fault is armed, else from the start.

    Attributes:
        role: `driver`, `worker` (any) or `worker:INDEX`.
        op: a verb of the component for the driver, one of its worker operations otherwise.
        k: which hit, from 1.
        edge: whether the fault strikes before or after the operation.
    """

    role: str
    op: str
    k: int = 1
    edge: Literal["before", "after"] = "before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heal:
    """Ends a fault: `heal` is its id."""

    heal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Marks a new phase; in `converge` every call must succeed."""

    phase: Literal["chaos", "converge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """What the scenario expects: one outcome, or any of several."""

    outcome: Expected | tuple[Expected, ...] = Expected.SURVIVES

    @property
    def outcomes(self) -> tuple[Expected, ...]:
        """The accepted outcomes, as a tuple."""
        if isinstance(self.outcome, str):
            return (Expected(self.outcome),)
        return self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Generic[SetupT]):
    """One combination of a scenario's matrix, with the setup that results from it."""

    key: str
    values: Mapping[str, Value]
    setup: SetupT


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(Generic[SetupT, StepT]):
    """One behaviour, as written in one file.

    Attributes:
        title: a sentence about the behaviour that is expected.
        component: the port it runs against: `pool`, `weights` or `storage`.
        seen_in: public reports of the defect, as `owner/name#number`.
        setup: the component's setup dataclass.
        matrix: setup keys with the values to try; each combination is a row.
        steps: verbs, faults, heals and phases, in order.
        expect: what a correct backend does.
    """

    title: str
    component: str
    steps: tuple[StepT, ...]
    setup: SetupT
    matrix: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    seen_in: tuple[str, ...] = ()
    expect: Expect = Expect()

    def rows(self) -> tuple[Row[SetupT], ...]:
        """Every combination of the matrix, keys sorted, in the order the file gives the values."""
        keys = sorted(self.matrix)
        return tuple(
            self._row(dict(zip(keys, values, strict=True)))
            for values in itertools.product(*(self.matrix[key] for key in keys))
        )

    def _row(self, values: Mapping[str, Any]) -> Row[SetupT]:
        key = ",".join(f"{name}={_shown(value)}" for name, value in values.items())
        setup = replace(self.setup, **values)  # type: ignore[type-var] # every setup is a dataclass
        return Row(key=key, values=values, setup=setup)


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def row_id(component: str, name: str, row: str) -> str:
    """`pool/closed_result_channel[exchange=slots,transport=process]`: the row on any backend."""
    return f"{component}/{name}[{row}]"


def cell_id(component: str, name: str, row: str, backend: str) -> str:
    """`pool/closed_result_channel[exchange=slots,transport=process]@torchrl-0.14.1`."""
    return f"{row_id(component, name, row)}@{backend}"


def slug(cell: str) -> str:
    """A cell's id as the name of its directory, and page; a long one, which no file system takes, ends in a digest."""
    name = re.sub(r"[^A-Za-z0-9.=@-]+", "_", cell).strip("_")
    if len(name) <= NAME_MAX:
        return name
    digest = hashlib.sha256(cell.encode("utf-8", "replace")).hexdigest()
    return f"{name[: NAME_MAX - 13]}-{digest[:12]}"


def row_of(cell: str) -> str:
    """A cell's id without its backend."""
    return cell.rpartition("@")[0]
