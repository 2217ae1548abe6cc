"""The record of a run: every cell with its verdict, what it was run on, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.model.history import FaultRecord, Hang
from harness.model.selftest import Selftest
from harness.model.verdict import CheckerReport, Finding, Outcome

RUN_SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendInfo:
    """A column of the matrix.

    Attributes:
        id: name and version, `torchrl-0.14.1`.
        name: what `--backend` was given.
        version: of the backend.
        python: the interpreter it ran in.
        versions: of the packages in it.
        properties: what the adapter declares.
    """

    id: str
    name: str
    version: str
    python: str
    versions: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def own_name(self) -> str:
        """What it calls itself: its list of known outcomes has this name, too."""
        return self.id.removesuffix(f"-{self.version}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A run that was done alone, because another was red for time only or hung.

    Attributes:
        outcome: what it came to.
        reason: why, one line.
        seconds: its wall time.
        directory: where it left its files, relative to the run record.
    """

    outcome: Outcome
    reason: str
    seconds: float
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One scenario row on one backend.

    Attributes:
        id: `component/scenario[row]@backend`.
        scenario: path of the file, relative to where the run was started if it lies below.
        title: the scenario's title.
        component: the port.
        row: the row's key.
        backend: the backend's id.
        outcome: the worst over the repeats.
        reason: why that outcome, one line.
        expect: what the scenario expects.
        hang: how a HANG looked.
        runs: how often each outcome came, with `n`.
        expected: the outcome listed for it in the expectation file, if any: the worst of several.
        expected_also: the others, where a race in the backend decides.
        expected_reason: the reason given there.
        expected_checkers: whose findings the list speaks of; empty if it does not say.
        expected_confirmed: the script that shows it without the harness, as the list names it.
        expected_expires: until which version the list says that.
        lacking: it was not run for want of something on this machine, which its reason names.
        level: what the determinism rests on (1 pure, 2 sequence points, 3 seeded plan).
        findings: of the run that counts.
        checkers: who judged, and how much.
        faults: the three records of each fault.
        seconds: wall time of the run that counts.
        replay: the command that repeats it.
        directory: where the run that counts left its files, relative to the run record.
        confirmation: of the run that counts, if it needed one.
    """

    id: str
    scenario: str
    title: str
    component: str
    row: str
    backend: str
    outcome: Outcome
    reason: str
    expect: tuple[str, ...]
    seconds: float
    replay: str
    level: int
    hang: Hang | None = None
    runs: Mapping[str, int] = field(default_factory=dict)
    expected: Outcome | None = None
    expected_also: tuple[Outcome, ...] = ()
    expected_reason: str | None = None
    expected_checkers: tuple[str, ...] = ()
    expected_confirmed: str = ""
    expected_expires: str = ""
    lacking: bool = False
    findings: tuple[Finding, ...] = ()
    checkers: tuple[CheckerReport, ...] = ()
    faults: tuple[FaultRecord, ...] = ()
    directory: str | None = None
    confirmation: Confirmation | None = None

    @property
    def listed(self) -> tuple[Outcome, ...]:
        """The outcomes listed for it, the worst first."""
        return () if self.expected is None else (self.expected, *self.expected_also)

    @property
    def listed_as(self) -> str:
        """Those in words: `HANG or PASS`."""
        return " or ".join(self.listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What `run.json` holds.

    Attributes:
        planned: how many cells were to run: more than there are, if it was interrupted or failed.
        interrupted: a signal ended it early.
        failed: why the harness could not go on, empty if it did.
    """

    schema: int = RUN_SCHEMA
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_scale: float = 1.0
    planned: int = 0
    interrupted: bool = False
    failed: str = ""
    seconds: float = 0.0
    backends: tuple[BackendInfo, ...] = ()
    cells: tuple[CellResult, ...] = ()
    selftest: Selftest | None = None
