"""What the report shows of one cell: its record joined with what it left in its directory."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.model.history import FaultRecord, Kind
from harness.model.run import CellResult
from harness.model.verdict import Contract, Finding
from harness.report.cellfiles import CellFiles
from harness.report.drawing import Drawing, draw
from harness.report.latency import Latencies, latencies
from harness.report.requests import operations
from harness.report.text import compact, one_line
from harness.report.timeline import Line, Timeline, timeline

NO_FILES = CellFiles()
FINDINGS_MAX = 50
FINDING_TEXT_MAX = 1_000
EVIDENCE_MAX = 16

CONTRACTS: Mapping[Contract, str] = {
    Contract.DOCUMENTED: "the backend's own documentation promises otherwise",
    Contract.EQUIVALENCE: "differs from a serial env, a freshly built object, a single process",
    Contract.LIVENESS: "something did not end, or did not end in time",
    Contract.OPINION: "ours alone: shown, but it does not fail a run",
}
LEVELS = {
    1: "1, pure: repeats exactly",
    2: "2, sequence points: a chosen interleaving",
    3: "3, a seeded plan: inputs and faults repeat, the schedule does not",
}
EXPECTS = {
    "survives": "every call that its caller lives to see the end of is ok, and so is close",
    "recovers": "calls may fail in time and attributed while the fault lasts; after it all are ok",
    "fails-bounded": "the call that a fault hits raises in time, with its cause; calls before it, and close, are ok",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The id of an event, and whether the report shows it, so that it can be linked."""

    seq: int
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding with its text bounded."""

    checker: str
    text: str
    remark: str
    evidence: tuple[Evidence, ...]
    evidence_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingGroup:
    """The findings that rest on one contract."""

    contract: Contract
    meaning: str
    findings: tuple[ShownFinding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One of a fault's three records."""

    name: str
    seen: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFault:
    """A fault with its three records."""

    name: str
    id: str
    worker: int | None
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """One cell, ready for the template."""

    cell: CellResult
    files: CellFiles
    expects: tuple[tuple[str, str], ...]
    level: str
    groups: tuple[FindingGroup, ...]
    findings_left_out: int
    faults: tuple[ShownFault, ...]
    timeline: Timeline
    drawing: Drawing | None
    latencies: Latencies | None
    ending: str
    problems: tuple[str, ...]
    confirmed_by: tuple[str, ...]


def detail(cell: CellResult, files: CellFiles, alone: CellFiles = NO_FILES) -> Detail:
    """Join a cell's record with its files, and with those of the run that confirmed it."""
    cited = frozenset(seq for finding in cell.findings for seq in finding.events)
    lines = timeline(files.events, cited)
    shown = frozenset(seq for line in lines.lines if isinstance(line, Line) for seq in line.events)
    findings = cell.findings[:FINDINGS_MAX]
    return Detail(
        cell=cell,
        files=files,
        expects=tuple((outcome, EXPECTS.get(outcome, "")) for outcome in cell.expect),
        level=LEVELS.get(cell.level, str(cell.level)),
        groups=_groups(findings, shown),
        findings_left_out=len(cell.findings) - len(findings),
        faults=tuple(_fault(fault, files) for fault in cell.faults),
        timeline=lines,
        drawing=draw(files.events, _first(files)),
        latencies=latencies(operations(files.events), files.events[-1].ts_ns)
        if files.events
        else None,
        ending=_ending(files),
        problems=tuple(one_line(problem) for problem in files.problems),
        confirmed_by=alone.names,
    )


def _groups(findings: Sequence[Finding], shown: frozenset[int]) -> tuple[FindingGroup, ...]:
    order = list(Contract)  # opinions last
    ranked = sorted(findings, key=lambda finding: order.index(finding.contract))
    return tuple(
        FindingGroup(
            contract=contract,
            meaning=CONTRACTS[contract],
            findings=tuple(_finding(finding, shown) for finding in group),
        )
        for contract, group in groupby(ranked, key=lambda finding: finding.contract)
    )


def _finding(finding: Finding, shown: frozenset[int]) -> ShownFinding:
    cited = finding.events[:EVIDENCE_MAX]
    remarks = [("a leak", finding.leak), ("only about time", finding.time)]
    return ShownFinding(
        checker=finding.checker,
        text=one_line(finding.text, FINDING_TEXT_MAX),
        remark=", ".join(text for text, applies in remarks if applies),
        evidence=tuple(Evidence(seq=seq, shown=seq in shown) for seq in cited),
        evidence_left_out=len(finding.events) - len(cited),
    )


def _fault(fault: FaultRecord, files: CellFiles) -> ShownFault:
    """The record says whether; the journal has the details."""
    told = {
        str(event.data.get("record")): compact(event.data.get("detail") or "")
        for event in files.events
        if event.kind is Kind.FAULT and event.data.get("id") == fault.id
    }
    stages = [("armed", fault.armed), ("reached", fault.reached)]
    return ShownFault(
        name=fault.name,
        id=fault.id,
        worker=fault.worker,
        stages=(
            *(Stage(name=name, seen=seen, detail=told.get(name, "")) for name, seen in stages),
            Stage(name="effect", seen=fault.effect is not None, detail=compact(fault.effect or "")),
        ),
    )


def _ending(files: CellFiles) -> str:
    """How the driver's process ended, as one sentence; empty if that is not known."""
    ending = files.ending
    if not ending:
        return ""
    parts = [_way(files)]
    if ending.get("exit_code") is not None:
        parts.append(f"exit code {compact(ending['exit_code'])}")
    if ending.get("signal"):
        parts.append(f"ended by {_signal(ending['signal'])}")
    if ending.get("ended_by_us"):
        parts.append("the session was ended from outside")
    if ending.get("hang"):
        parts.append(f"hung: {compact(ending['hang'])}")
    if ending.get("error"):
        parts.append(f"error of the harness: {compact(ending['error'], 400)}")
    return "; ".join(parts)


def _way(files: CellFiles) -> str:
    """Whether the driver came to the end of its steps, or left where it was meant to."""
    if any(event.kind is Kind.NOTE and event.op == "finished" for event in files.events):
        return "came to the end"
    for event in reversed(files.events):
        if event.kind is Kind.OK and event.op == "leave":
            return "left, as its last step says"
        if event.kind is Kind.FAULT and event.op == "signal_owner" and files.ending.get("signal"):
            return "was signalled, as the fault says"
    return "did not come to the end"


def _first(files: CellFiles) -> str | None:
    """The role that a hang is put down to."""
    first = files.ending.get("first")
    return first if isinstance(first, str) else None


def _signal(number: object) -> str:
    try:
        return signal.Signals(int(str(number))).name
    except ValueError:
        return f"signal {compact(number)}"
