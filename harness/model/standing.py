"""Where a cell stands against what was expected of it: what its colour and the exit code follow."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from harness.model.run import CellResult
from harness.model.verdict import FAILURES, INCONCLUSIVE, Contract, Finding, Outcome


class Standing(StrEnum):
    """An outcome, compared with the one that is listed or, if none is, with PASS."""

    EXPECTED = "as expected"
    """PASS or UNSUPPORTED, and nothing else is listed."""
    LISTED = "as listed"
    """The outcome that the expectation file lists, or one of those."""
    NOT_HERE = "not run here"
    """Something else than UNSUPPORTED is listed, and this machine lacks what the row needs: nothing is known."""
    BETTER = "better than listed"
    """Later in the order of outcomes than the listed one, or UNSUPPORTED: the list is out of date."""
    INCONCLUSIVE = "inconclusive"
    """UNKNOWN or VACUOUS where that is not listed."""
    WORSE = "worse than expected"
    """Earlier in the order of outcomes than the listed one, or red and not listed, or by a checker that is not."""
    HARNESS = "harness error"
    """Says nothing about the backend."""


DIFFERS = frozenset({Standing.WORSE, Standing.INCONCLUSIVE, Standing.BETTER, Standing.HARNESS})


def unlisted(found: Iterable[Finding], listed: Collection[str]) -> tuple[Finding, ...]:
    """Findings that a list cannot mean, which names other checkers; what is only about time is none.

    Args:
        found: of a run.
        listed: the names in the list; empty if it does not say whose findings it speaks of.
    """
    if not listed:
        return ()
    others = (f for f in found if f.checker not in listed and not f.time)
    return tuple(f for f in others if f.contract is not Contract.OPINION)


def standing(cell: CellResult) -> Standing:
    """Compare a cell's outcome, and who found it, with what is listed, as the run's exit code does."""
    listed = cell.expected
    if cell.outcome in FAILURES and unlisted(cell.findings, cell.expected_checkers):
        return Standing.WORSE
    if cell.outcome in cell.listed:
        return Standing.LISTED
    if cell.lacking and listed is not None:
        return Standing.NOT_HERE
    if cell.outcome is Outcome.HARNESS_ERROR:
        return Standing.HARNESS
    if cell.outcome in INCONCLUSIVE:
        return Standing.INCONCLUSIVE
    if cell.outcome in (Outcome.PASS, Outcome.UNSUPPORTED):
        return Standing.EXPECTED if listed is None else Standing.BETTER
    if listed is None or cell.outcome.precedence < listed.precedence:
        return Standing.WORSE
    return Standing.BETTER
