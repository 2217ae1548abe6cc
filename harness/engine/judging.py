"""Judges a cell from the files it left: journal, ending, request. Pure but for reading them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.checkers import CHECKERS
from harness.engine.request import CellRequest
from harness.model.history import EVENT_SCHEMA, Ending, Event, History, Kind, Leftover
from harness.model.plain import to_plain
from harness.model.verdict import CheckerReport, Contract, Finding, Outcome, Verdict
from harness.ports.checkers import Checker


class BrokenJournalError(Exception):
    """A cell's files cannot be judged; the message names the file and what is wrong with it."""


def judge_directory(directory: Path, checkers: Sequence[Checker] = CHECKERS) -> Verdict:
    """Judge what one run of a cell left behind; a cell that cannot be judged costs its verdict alone."""
    try:
        return judge(read_history(directory), checkers)
    except BrokenJournalError as error:
        return Verdict(outcome=Outcome.HARNESS_ERROR, reason=str(error))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{directory}: an event says what it must not: {type(error).__name__}: {error}"
        return Verdict(outcome=Outcome.HARNESS_ERROR, reason=reason)


def read_history(directory: Path) -> History:
    """Read request, journal and ending.

    Raises:
        BrokenJournalError: a file is missing or says something else than it should.
    """
    try:
        request = CellRequest.from_plain(_json(directory / "request.json"))
        ending = _json(directory / "ending.json")
        lines = (directory / "journal.jsonl").read_bytes().splitlines()
        events = tuple(read_event(seq, line) for seq, line in enumerate(lines))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        broken = directory / "guardian.txt"
        found = f"{directory}: {type(error).__name__}: {_last_line(broken) or str(error)}"
        raise BrokenJournalError(_told(directory) or found) from error
    leftovers = ending.pop("leftovers", [])
    finished = any(e.kind is Kind.NOTE and e.op == "finished" for e in events)
    return History(
        component=request.component,
        setup=request.setup,
        expect=request.expect,
        properties=request.properties,
        faults=tuple(to_plain(fault) for fault in request.faults()),
        verbs=frozenset(verb.do for verb in request.verbs()),
        events=events,
        ending=Ending(finished=finished, **ending),
        leftovers=tuple(Leftover(**each) for each in leftovers),
    )


def read_event(seq: int, line: bytes) -> Event:
    """One line of a journal.

    Raises:
        ValueError: it is not JSON, or of another version of the schema.
    """
    plain = json.loads(line)
    if plain["v"] != EVENT_SCHEMA:
        raise ValueError(f"line {seq + 1}: event schema {plain['v']!r}, expected {EVENT_SCHEMA}")
    return Event(
        seq=seq,
        ts_ns=plain["ts"],
        pid=plain["pid"],
        role=plain["role"],
        kind=Kind(plain["kind"]),
        op=plain["op"],
        id=plain["id"],
        data=plain["data"],
    )


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line for line in reversed(lines) if line), "")


def _told(directory: Path) -> str:
    """What the supervisor knew of a cell that went wrong before it could leave anything."""
    try:
        return str(_json(directory / "ending.json").get("error") or "")
    except (OSError, ValueError, TypeError):
        return ""


def _json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise TypeError(f"{path.name} holds no object")
    return found


def judge(history: History, checkers: Sequence[Checker] = CHECKERS) -> Verdict:
    """Let every applicable checker judge, then choose the one outcome."""
    findings: list[Finding] = []
    reports: list[CheckerReport] = []
    for checker in checkers:
        if checker.applies(history):
            found, report = _ask(checker, history)
            findings += found
            reports.append(report)
    outcome, reason = _outcome(history, findings, reports)
    return Verdict(
        outcome=outcome,
        reason=reason,
        hang=history.ending.hang,
        findings=tuple(findings),
        checkers=tuple(reports),
        faults=history.fault_records,
    )


def _ask(checker: Checker, history: History) -> tuple[tuple[Finding, ...], CheckerReport]:
    try:
        judgement = checker.check(history)
    except Exception as error:  # noqa: BLE001 - a judge that fails must not pass anybody, nor end the run
        text = f"crashed: {type(error).__name__}: {error}"
        return (), CheckerReport(name=checker.name, judged=0, error=text)
    nothing = None if judgement.judged or judgement.findings else "found nothing to judge"
    report = CheckerReport(name=checker.name, judged=judgement.judged, error=nothing)
    return judgement.findings, report


def _outcome(
    history: History, findings: Iterable[Finding], reports: Sequence[CheckerReport]
) -> tuple[Outcome, str]:
    """The first outcome, in order of precedence, that applies."""
    red = [f for f in findings if f.contract is not Contract.OPINION]
    harness_error = _harness_error(history)
    if harness_error is not None:
        return Outcome.HARNESS_ERROR, harness_error
    ending = history.ending
    if not (ending.finished or ending.ended_by_us or history.left_as_asked):
        return Outcome.CRASH, f"the driver died: {_death(ending)}"
    if ending.hang is not None:
        return Outcome.HANG, _hang_reason(history)
    hard = [f for f in red if not f.leak]
    idle = _idle_fault(history) or _idle_race(history)
    if red:
        # What follows may only follow from a fault that never was: whoever reads it has to know.
        summary = "; ".join(part for part in (idle, _summary(hard or red)) if part)
        return Outcome.FAIL if hard else Outcome.LEAK, summary
    if idle is not None:
        return Outcome.VACUOUS, idle
    return _without_findings(reports)


def _idle_fault(history: History) -> str | None:
    """The first fault of which nothing was seen."""
    for record in history.fault_records:
        if not record.reached or not record.effect:
            what = "had no effect" if record.reached else "did not fire"
            return f"fault {record.name} ({record.id}) {what}"
    return None


def _idle_race(history: History) -> str | None:
    """The first race in which too few have met each other."""
    for op in history.operations:
        met, wanted = op.result.get("met"), op.arguments.get("meets", 0)
        if op.op == "race" and met is not None and met < wanted:
            return f"race (request {op.id}): {met} batches met another, and {wanted} had to"
    return None


def _without_findings(reports: Sequence[CheckerReport]) -> tuple[Outcome, str]:
    silent = [report for report in reports if report.error]
    if silent:
        return Outcome.UNKNOWN, f"checker {silent[0].name} {silent[0].error}"
    if not reports:
        return Outcome.UNKNOWN, "no checker applies"
    judged = sum(report.judged for report in reports)
    return Outcome.PASS, f"{len(reports)} checkers judged {judged} observations"


def _harness_error(history: History) -> str | None:
    """What went wrong on our own side, if anything."""
    if history.ending.error is not None:
        return history.ending.error
    for event in history.of_kind(Kind.NOTE):
        if event.op == "broken":
            return str(event.data["traceback"]).strip().splitlines()[-1]
    if history.ending.ended_by_us and history.ending.hang is None:
        return "the cell was ended from outside"
    return None


def _death(ending: Ending) -> str:
    if ending.signal is not None:
        return f"signal {ending.signal}"
    return f"exit code {ending.exit_code}"


def _hang_reason(history: History) -> str:
    hang, why = history.ending.hang, history.ending.waits_for
    who = f": {why}" if why else ""
    for op in history.operations:
        if op.status == "open":
            late = f"{op.deadline_s:g} s after its invocation, past its grace"
            return f"{hang}: {op.op} was still open {late}{who}"
    return f"{hang} between calls{who}"


def _summary(findings: Sequence[Finding]) -> str:
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return f"{findings[0].checker}: {findings[0].text}{more}"
