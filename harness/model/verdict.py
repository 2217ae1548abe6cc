"""What is said about a cell: findings, and one outcome by precedence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from harness.model.history import FaultRecord, Hang


class Contract(StrEnum):
    """On what a finding rests."""

    DOCUMENTED = "documented"
    """The backend's own documentation promises otherwise."""
    EQUIVALENCE = "equivalence"
    """It differs from a serial env, a freshly built object, a single process."""
    LIVENESS = "liveness"
    """Something did not end, or did not end in time."""
    OPINION = "opinion"
    """Ours: shown, but it does not fail a run."""


class Outcome(StrEnum):
    """The one outcome of a cell; the first in this order that applies."""

    HARNESS_ERROR = "HARNESS-ERROR"
    UNSUPPORTED = "UNSUPPORTED"
    CRASH = "CRASH"
    HANG = "HANG"
    FAIL = "FAIL"
    LEAK = "LEAK"
    VACUOUS = "VACUOUS"
    UNKNOWN = "UNKNOWN"
    PASS = "PASS"

    @property
    def precedence(self) -> int:
        """Smaller is worse."""
        return list(Outcome).index(self)


FAILURES = frozenset({Outcome.FAIL, Outcome.HANG, Outcome.CRASH, Outcome.LEAK})
INCONCLUSIVE = frozenset({Outcome.UNKNOWN, Outcome.VACUOUS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, with its evidence.

    Attributes:
        checker: the invariant that was violated.
        text: one sentence with the values that show it.
        contract: on what it rests.
        events: ids of the events that show it.
        leak: it is about something left behind.
        time: it is only about time, so a run alone has to confirm it.
    """

    checker: str
    text: str
    contract: Contract
    events: tuple[int, ...] = ()
    leak: bool = False
    time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one checker says of one history: what it found wrong and how much it looked at."""

    findings: tuple[Finding, ...]
    judged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerReport:
    """One applicable checker's part; `error` if it crashed or had nothing to look at."""

    name: str
    judged: int
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of one run of a cell."""

    outcome: Outcome
    reason: str
    hang: Hang | None = None
    findings: tuple[Finding, ...] = ()
    checkers: tuple[CheckerReport, ...] = ()
    faults: tuple[FaultRecord, ...] = ()

    @property
    def only_time(self) -> bool:
        """Whether all that makes it red is about time, so that a run alone must confirm it."""
        red = [f for f in self.findings if f.contract is not Contract.OPINION]
        if self.outcome is Outcome.FAIL:  # leaks do not decide then
            red = [f for f in red if not f.leak]
        return self.outcome in (Outcome.FAIL, Outcome.LEAK) and all(f.time for f in red)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome that counts over repeats."""
    return min(outcomes, key=lambda outcome: outcome.precedence)
