"""Where a cell stands against what was expected of it: what its colour and the exit code follow."""

from __future__ import annotations

from enum import StrEnum

from harness.model.run import CellResult
from harness.model.verdict import INCONCLUSIVE, Outcome


class Standing(StrEnum):
    """An outcome, compared with the one that is listed or, if none is, with PASS."""

    EXPECTED = "as expected"
    """PASS or UNSUPPORTED, and nothing else is listed."""
    LISTED = "as listed"
    """The outcome that the expectation file lists, or one of those."""
    BETTER = "better than listed"
    """Later in the order of outcomes than the listed one, or UNSUPPORTED: the list is out of date."""
    INCONCLUSIVE = "inconclusive"
    """UNKNOWN or VACUOUS where that is not listed."""
    WORSE = "worse than expected"
    """Earlier in the order of outcomes than the listed one, or red and not listed."""
    HARNESS = "harness error"
    """Says nothing about the backend."""


DIFFERS = frozenset({Standing.WORSE, Standing.INCONCLUSIVE, Standing.BETTER, Standing.HARNESS})


def standing(cell: CellResult) -> Standing:
    """Compare a cell's outcome with its listed one, as the run's exit code does."""
    listed = cell.expected
    if cell.outcome in cell.listed:
        return Standing.LISTED
    if cell.outcome is Outcome.HARNESS_ERROR:
        return Standing.HARNESS
    if cell.outcome in INCONCLUSIVE:
        return Standing.INCONCLUSIVE
    if cell.outcome in (Outcome.PASS, Outcome.UNSUPPORTED):
        return Standing.EXPECTED if listed is None else Standing.BETTER
    if listed is None or cell.outcome.precedence < listed.precedence:
        return Standing.WORSE
    return Standing.BETTER
