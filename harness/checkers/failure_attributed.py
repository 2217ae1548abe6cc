"""`failure_attributed`: an error says which worker failed, in what operation, and its first cause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from harness.checkers._errors import markers_of, message, says_gone, statements, without
from harness.checkers._shared import (
    EITHER,
    ENDING_VERBS,
    after_close,
    beside,
    ended_ns,
    envs_struck,
    error_message,
    finding_on,
    named,
    timed_out_as_asked,
)
from harness.model.history import Event, FaultRecord, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "failure_attributed"
_finding = partial(finding_on, NAME)
BROKEN = frozenset({"fail_transfer", "truncate_transfer", "unrebuildable_item"})
DEADLY = frozenset({"exit", "signal", "kill", "tear_transfer", "cut_channel"})
FAULTS = frozenset({"raise", "bad_weights", "bad_reply"}) | BROKEN | DEADLY

MISMATCH = re.compile(
    r"shape|(?<!re)size|key(?!board)|missing|unexpected(?!ly)|dtype|\btypes?\b|\bspecs?\b",
    re.IGNORECASE,
)
OPERATION = re.compile(
    r"step|reset|send|recv|receiv|forward|update|apply|load|construct|creat|start|rollout",
    re.IGNORECASE,
)
# Neither a share (1 of 2), nor a time or a size (1.0 s), nor an address (0x7f) is an index.
WORKER = re.compile(
    r"(?:worker|env|environment|process)(?:s|es)?(?:[ _-]*(?:index|idx|id|rank))?"
    r"[ _\-#:=(\[]*(?P<indices>\d+(?:\s*(?:,|and)\s*\d+)*)"
    r"(?![\dx]|\.\d|\s*(?:of|/)\s*\d|\s*(?:%|(?:[mu]?s|secs?|seconds?|min|minutes?|[kMG]?i?B|bytes?)\b))",
    re.IGNORECASE,
)
KNOWN_TYPES = frozenset(
    {"RuntimeError", "TimeoutError", "ValueError", "KeyError", "OSError", "EOFError"}
)


def check(history: History) -> Judgement:
    """Judge, for each reached fault, the first operation that failed after it."""
    findings: list[Finding] = []
    judged = 0
    for record in history.fault_records:
        window = history.fault_window_ns(record.id)
        if record.name not in FAULTS or window is None:
            continue
        judged += 1
        findings += _judge(history, record, window[0])
    return Judgement(findings=tuple(findings), judged=judged)


def _judge(history: History, record: FaultRecord, reached_ns: int) -> list[Finding]:
    """What is wrong with the report of one fault."""
    closed = after_close(history)  # what fails then says so, and nothing of the fault
    later = [op for op in history.operations if op.id not in closed and _ends_after(op, reached_ns)]
    # What a stall was meant to do to a timed receive is no news of another fault.
    later = [op for op in later if not timed_out_as_asked(history, op)]
    failed = [op for op in later if op.status == "fail"]
    report = _report(history, record, failed)
    if report is None:
        return _silence(history, record, later)
    return [
        *_cause(history, record, report),
        *_naming(history, record, report),
        *_repetition(history, record, failed, report),
    ]


def _ends_after(operation: Operation, reached_ns: int) -> bool:
    done = ended_ns(operation)
    return done is None or done >= reached_ns


def _report(history: History, record: FaultRecord, failed: list[Operation]) -> Operation | None:
    """The first failure that is not plainly another fault's."""
    foreign = [
        m for r in history.fault_records if r.id != record.id for m in markers_of(history, r.id)
    ]
    own = markers_of(history, record.id)
    for op in failed:
        text = _everything(op)
        if not any(m in text for m in foreign) or any(m in text for m in own):
            return op
    return failed[0] if failed else None


def _silence(history: History, record: FaultRecord, later: list[Operation]) -> list[Finding]:
    """A fault that nobody heard of, unless nobody asked, or is still waiting for an answer."""
    calls = [op for op in later if op.op not in ENDING_VERBS]
    if record.effect is None or not calls or any(op.status == "open" for op in later):
        return []
    if "survives" in history.expect:
        return []
    text = f"the fault was not reported: {record.name} ({record.id}) had its effect, "
    text += f"and all of the {len(calls)} calls after it returned"
    return [_finding(text, *calls)]


def _cause(history: History, record: FaultRecord, report: Operation) -> Iterator[Finding]:
    """Whether the first cause is told."""
    markers = markers_of(history, record.id)
    told = f"{named(report)} raised {error_message(report)}"
    match record.name:
        case "raise" | "bad_reply" if (
            markers
            and not any(m in _everything(report) for m in markers)
            # Who refuses a reply never comes to what would raise in it.
            and not (record.name == "bad_reply" and _tells(report))
        ):
            yield _finding(
                f"{told}: it does not carry the first cause ({markers[0]}); "
                "a serial env raises the cause itself",
                report,
            )
        case name if name in BROKEN and not _says_what_broke(history, report, markers):
            text = f"{told}: it carries neither the first cause ({', '.join(markers)}) nor says that the worker is gone"
            yield _finding(text, report)
        case name if name in DEADLY and not _says_what_broke(history, report, markers):
            text = f"{told}: it does not say that the worker died"
            yield _finding(text, report)
        case "bad_weights" | "bad_reply" if not (_raises(record, markers) or _tells(report)):
            text = f"{told}: it does not say which key, shape or type was wrong"
            yield _finding(text, report)


def _raises(record: FaultRecord, markers: list[str]) -> bool:
    """Whether a bad reply is one that raises by itself, with words of its own."""
    return record.name == "bad_reply" and bool(markers)


def _tells(report: Operation) -> bool:
    return bool(MISMATCH.search(statements(report)))


def _says_what_broke(history: History, report: Operation, markers: list[str]) -> bool:
    """Whether it tells why there is no answer: by the first cause, or that a worker has ended of that."""
    told = _everything(report)
    return any(marker in told for marker in markers) or says_gone(history, statements(report))


def _naming(history: History, record: FaultRecord, report: Operation) -> Iterator[Finding]:
    """Whether worker, operation and kind of error are told: opinions, unless one is blamed that no fault has struck."""
    told = f"{named(report)} raised {error_message(report)}"
    text = without(message(report), markers_of(history, record.id))
    struck = {env for each in history.fault_records if each.reached for env in _hit(history, each)}
    several = int(history.setup.get("envs_per_worker", 1)) > 1
    named_envs = _named_indices(text, several=several)
    others = _blamed(named_envs, history) - struck
    told_of = _hit(history, record) & named_envs
    if record.worker is not None and others and not told_of:
        blamed = " and ".join(map(str, sorted(others, key=str)))
        yield _finding(
            f"{told}: it blames worker {blamed}, and it was worker {record.worker}",
            report,
        )
    elif not (told_of or (record.worker is None and named_envs)):
        who = "a worker" if record.worker is None else f"worker {record.worker}"
        yield _finding(f"{told}: it does not name {who}", report, contract=Contract.OPINION)
    if not OPERATION.search(text):
        yield _finding(f"{told}: it does not name the operation", report, contract=Contract.OPINION)
    raised = {str(e.data["type"]) for e in _events(history, record) if "type" in e.data}
    bases = {str(base).rpartition(".")[2] for base in report.error.get("bases", ())}
    if not (KNOWN_TYPES | raised) & (bases | {str(report.error.get("type", ""))}):
        yield _finding(f"{told}: nobody would catch this type", report, contract=Contract.OPINION)


def _hit(history: History, record: FaultRecord) -> frozenset[int]:
    """The envs that a fault may have struck: of a broken item only its worker is known."""
    if record.name in BROKEN and record.worker is not None:
        return beside(history, record.worker)
    return envs_struck(history, record)


def _repetition(
    history: History, record: FaultRecord, failed: list[Operation], report: Operation
) -> Iterator[Finding]:
    """Whether closing reports again what was reported."""
    markers = markers_of(history, record.id)
    for op in failed[failed.index(report) + 1 :]:
        if op.op == "shutdown" and any(marker in _everything(op) for marker in markers):
            text = f"{named(op)} reports again what {named(report)} had reported"
            yield _finding(f"{text}: {error_message(op)}", report, op)


def _named_indices(text: str, *, several: bool) -> set[int]:
    """Which envs a text names; where a worker has several, its own number says nothing of them."""
    found = list(WORKER.finditer(text))
    if several:
        found = [each for each in found if each.group().lower().startswith("env")] or found
    return {int(index) for each in found for index in re.findall(r"\d+", each["indices"])}


def _blamed(indices: set[int], history: History) -> set[int]:
    """Workers that there are: larger numbers are process ids and the like."""
    count = int(history.setup.get("num_envs") or history.setup.get("num_workers") or 0)
    return {index for index in indices if index < count}


def _events(history: History, record: FaultRecord) -> Iterable[Event]:
    return [e for e in history.of_kind(Kind.FAULT) if e.data.get("id") == record.id]


def _everything(operation: Operation) -> str:
    return f"{message(operation)}\n{operation.error.get('traceback', '')}"


CHECKER = Checker(name=NAME, components=EITHER, check=check, faults=FAULTS)
