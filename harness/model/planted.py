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
