"""`as_declared`: workers are what the row asks for, as their own probes see it, and not as somebody says."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._shared import BUILDING_VERBS, EITHER, SHARED_CHILDREN
from harness.model.history import Event, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "as_declared"
AT_WORK = frozenset(
    {"reset", "step", "forward"}
)  # a backend may make an env in the owner, to look at it


def check(history: History) -> Judgement:
    """Hold each worker, where it is first seen at work after a construction, against setup and `worker_pids`."""
    findings: list[Finding] = []
    judged = 0
    for built, workers in _lives(history):
        judged += len(workers)
        wrong = next((found for each in workers for found in _wrong(history, built, each)), None)
        findings += [] if wrong is None else [wrong]  # of one construction the first says all
    return Judgement(findings=tuple(findings), judged=judged)


def _lives(history: History) -> Iterator[tuple[Operation, list[Event]]]:
    """Each construction that came to an end, with the first time that each worker was seen at work after it."""
    ends = sorted(
        (op.completed.seq, op)
        for op in history.operations
        if op.op in BUILDING_VERBS and op.status == "ok" and op.completed is not None
    )
    for i, (began, built) in enumerate(ends):
        until = ends[i + 1][1].invoked.seq if i + 1 < len(ends) else len(history.events)
        seen: dict[str, Event] = {}
        for event in history.events[began:until]:
            if _is_at_work(event):
                seen.setdefault(event.role, event)
        yield built, sorted(seen.values(), key=lambda event: event.role)


def _is_at_work(event: Event) -> bool:
    of_a_worker = event.kind is Kind.OBSERVE and event.role.startswith("worker:")
    return of_a_worker and event.op in AT_WORK


def _wrong(history: History, built: Operation, seen: Event) -> Iterator[Finding]:
    owner, setup = built.invoked.pid, history.setup
    transport, method = setup.get("transport"), setup.get("start_method", "fork")
    name = seen.role.replace(":", " ")
    if transport == "thread" and seen.pid != owner:
        yield _finding(built, seen, f"transport=thread: {name} is process {seen.pid}, not {owner}")
    if transport == "thread":
        return
    if seen.pid == owner:
        yield _finding(built, seen, f"transport=process: {name} is in its owner's process {owner}")
        return
    fresh = bool(seen.data.get("fresh"))
    if fresh != (method != "fork"):
        what = "is an interpreter of its own" if fresh else "is a fork of its owner"
        yield _finding(built, seen, f"start_method={method}: {name} {what}")
    told = built.result.get("pids")
    replaced = setup.get("on_worker_failure") == "restart"
    if told is None or replaced or setup.get("payload") in SHARED_CHILDREN:
        return  # it was not asked, or is asked for something else
    index = int(seen.role.partition(":")[2])
    pid = told[index] if index < len(told) else None
    if pid != seen.pid:
        yield _finding(built, seen, f"worker_pids says {pid} of {name}, which is {seen.pid}")


def _finding(built: Operation, seen: Event, text: str) -> Finding:
    events = (*built.events, seen.seq)
    return Finding(checker=NAME, text=text, contract=Contract.DOCUMENTED, events=events)


class _DeclaredChecker(Checker):
    """Applies where workers came to do something."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether any was seen at work after a construction."""
        return super().applies(history) and any(workers for _, workers in _lives(history))


CHECKER = _DeclaredChecker(name=NAME, components=EITHER, check=check)
