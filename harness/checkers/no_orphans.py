"""`no_orphans`: no process that a pool started outlives its owner, however that ended, beyond a bound."""

from __future__ import annotations

from harness.checkers._leaving import LeavingChecker, aftermath
from harness.checkers._shared import ANY
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "no_orphans"


class _OrphanChecker(LeavingChecker):
    """Applies where there are worker processes: threads end with their process."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether the driver leaves, and had workers that could outlive it."""
        return super().applies(history) and bool(_workers(history))


def check(history: History) -> Judgement:
    """Judge every process that was there when its owner was gone, unless the cell had to be ended."""
    seen = aftermath(history)
    if seen is None or history.ending.ended_by_us:
        return Judgement(findings=(), judged=0)
    workers = _workers(history)
    orphans = [each for each in seen.data["processes"] if each["outlived_s"] is None]
    findings = [
        Finding(
            checker=NAME,
            text=f"{_named(each, workers)} was still there {seen.data['bound_s']:g} s after its owner",
            contract=Contract.LIVENESS,
            events=(seen.seq,),
            time=True,  # it may only be slow: a run alone tells
        )
        for each in orphans
    ]
    return Judgement(findings=tuple(findings), judged=len(workers))


def _workers(history: History) -> dict[int, int]:
    """The worker of each process that is not the driver's: as the probes in it say."""
    drivers = {event.pid for event in history.events if event.role == "driver"}
    return {
        event.pid: int(event.role.partition(":")[2] or 0)
        for event in history.events
        if event.role.startswith("worker") and event.pid not in drivers
    }


def _named(process: dict[str, object], workers: dict[int, int]) -> str:
    pid = int(str(process["pid"]))
    if pid in workers:
        return f"worker {workers[pid]} (pid {pid})"
    return f"process {pid} ({process['command']})"


CHECKER = _OrphanChecker(name=NAME, components=ANY, check=check)
