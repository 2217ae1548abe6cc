"""`idle_when_blocked`: whoever waits, for a slow env or for something to do, uses next to no processor time."""

from __future__ import annotations

from collections.abc import Mapping

from harness.checkers._shared import POOL
from harness.model.history import Event, History, Kind
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "idle_when_blocked"
SHARE_MAX = 0.02  # of one core
SECONDS_MIN = 1.0  # what is measured over less says nothing


class _IdleChecker(Checker):
    """Applies where a scenario has everybody wait for a given time."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether it idles, or has an env that is slow for a given time."""
        slow = any(f["fault"] == "stall" and f.get("for_s") for f in history.faults)
        return history.component in self.components and ("idle" in history.verbs or slow)


def check(history: History) -> Judgement:
    """Judge every process in every window that was long enough."""
    roles = _roles(history)
    findings: list[Finding] = []
    judged = 0
    for window in history.of_kind(Kind.OBSERVE):
        if window.op != "processor" or float(window.data["seconds"]) < SECONDS_MIN:
            continue
        judged += len(window.data["processes"])
        findings += _busy(history, window, roles)
    return Judgement(findings=tuple(findings), judged=judged)


def _busy(history: History, window: Event, roles: Mapping[int, str]) -> list[Finding]:
    seconds = float(window.data["seconds"])
    return [
        Finding(
            checker=NAME,
            text=f"{roles.get(each['pid'], 'a process')} used {each['cpu_s'] / seconds:.0%} of a core "
            f"for {seconds:.1f} s {_meanwhile(history, window)}",
            contract=Contract.LIVENESS,
            events=(window.seq,),
            time=True,
        )
        for each in window.data["processes"]
        if each["cpu_s"] > SHARE_MAX * seconds
    ]


def _meanwhile(history: History, window: Event) -> str:
    """What happened in the window, in words."""
    if window.data["occasion"] == "idle":
        return "while nobody had anything to do"
    waiting = next(
        (op for op in reversed(history.operations) if op.invoked.ts_ns < window.ts_ns), None
    )
    what = "" if waiting is None else f" in {waiting.op} (request {waiting.id})"
    return f"while an env was slow ({window.data['occasion']}){what}"


def _roles(history: History) -> dict[int, str]:
    """Who is which process; where workers are threads, all of them are the driver."""
    found: dict[int, str] = {}
    for event in history.events:
        if event.role == "driver":
            found[event.pid] = "the driver"
        elif event.role.startswith("worker"):
            found.setdefault(event.pid, event.role.replace(":", " "))
    return found


CHECKER = _IdleChecker(name=NAME, components=POOL, check=check)
