"""Deliberately wrong variants of the reference, and what has to catch them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedBug:
    """One wrong variant.

    Attributes:
        name: the bug, in a few words with underscores.
        backend: `module:attr` of its adapter.
        text: what is wrong, one sentence.
        caught_by: the checker that must catch it.
        rows: the cells, without backend, in which that checker must find it; others may be red too.
    """

    name: str
    backend: str
    text: str
    caught_by: str
    rows: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """What a selftest saw of one planted bug.

    Attributes:
        bug: which.
        red: the cells that were red.
        checkers: whose findings, opinions aside, made them red.
        hidden: declared rows in which the checker that must catch it found nothing.
        untried: how many rows there was no time for.
    """

    bug: PlantedBug
    red: frozenset[str]
    checkers: tuple[str, ...]
    hidden: frozenset[str]
    untried: int = 0

    @property
    def right(self) -> bool:
        """The checker that must catch it did, in each of its rows; a bug may show in others too."""
        return bool(self.bug.rows) and not self.hidden
