"""`trajectories_contiguous`: a piece of a trajectory is consecutive steps of one, and crosses no cursor."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from harness.checkers._ring import Element, readings, sequences
from harness.checkers._shared import STORAGE, AnswerChecker, named
from harness.model.history import History
from harness.model.verdict import Contract, Finding, Judgement

NAME = "trajectories_contiguous"
READING = ("sample", "race")


def check(history: History) -> Judgement:
    """Judge each piece that was sampled."""
    size, horizon = int(history.setup["slice_len"]), int(history.setup["horizon"])
    findings: list[Finding] = []
    judged = 0
    for reading in readings(history, *READING):
        for piece in sequences(reading.elements, size):
            judged += 1
            why = _why(piece, horizon)
            if why is not None:
                findings.append(
                    Finding(
                        checker=NAME,
                        text=f"{named(reading.operation)} has a piece that {why}",
                        contract=Contract.EQUIVALENCE,
                        events=reading.operation.events,
                    )
                )
    return Judgement(findings=tuple(findings), judged=judged)


def _why(piece: Sequence[Element], horizon: int) -> str | None:
    for one, other in itertools.pairwise(piece):
        both = f"{one.name} and {other.name}"
        if one.stream != other.stream:
            return f"joins {both}"
        if (one.number - 1) // horizon != (other.number - 1) // horizon:
            return f"goes from one trajectory to another, from {both}"
        if other.number != one.number + 1:
            return f"is not consecutive: {both}"
    return None


class _SlicesChecker(AnswerChecker):
    """Applies where pieces are asked for."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether the sampler draws pieces."""
        slices = history.component in STORAGE and history.setup["sampler"] == "slices"
        return slices and super().applies(history)


CHECKER = _SlicesChecker(name=NAME, components=STORAGE, check=check, verbs=frozenset(READING))
