"""The port of checkers: pure functions from a history to a judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.model.history import History
from harness.model.verdict import Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """One invariant.

    Attributes:
        name: the invariant's name, in findings and reports.
        components: the ports whose histories it can judge.
        verbs: it applies if the scenario uses at least one of these (empty: always).
        check: judges; it must count what it looked at, since no evidence is not a pass.
        faults: it applies only if the scenario has at least one of these faults (empty: always).
    """

    name: str
    components: frozenset[str]
    check: Callable[[History], Judgement]
    verbs: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()

    def applies(self, history: History) -> bool:
        """Whether the scenario can produce the events that this checker judges."""
        if history.component not in self.components:
            return False
        if self.faults and not self.faults & {str(f["fault"]) for f in history.faults}:
            return False
        return not self.verbs or bool(self.verbs & history.verbs)
