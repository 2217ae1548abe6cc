"""A run that is red for time only is confirmed by one that is done alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engine.outcomes import Run, confirmed, summed_up
from harness.model.run import CellResult
from harness.model.verdict import Outcome, Verdict
from tests.unit.harness.report import sample

ROOT = Path("run")


def run(number: int, outcome: Outcome) -> Run:
    return Run(
        verdict=Verdict(outcome=outcome, reason=f"reason {number}"),
        directory=ROOT / "cells" / "a" / str(number),
        seconds=float(number),
    )


def result(alone: Outcome) -> CellResult:
    blank = sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.UNKNOWN)
    return summed_up(blank, [confirmed(run(1, Outcome.HANG), run(2, alone))], ROOT)


@pytest.mark.parametrize("alone", [Outcome.HANG, Outcome.CRASH, Outcome.FAIL])
def test_a_hang_that_is_red_again_counts(alone: Outcome):
    assert result(alone).outcome is Outcome.HANG


def test_a_hang_that_does_not_come_again_is_unknown():
    found = result(Outcome.PASS)
    assert (found.outcome, found.reason) == (Outcome.UNKNOWN, "time, 1 of 2: reason 1")


@pytest.mark.parametrize("alone", [Outcome.HANG, Outcome.PASS])
def test_the_run_that_was_done_alone_is_kept(alone: Outcome):
    found = result(alone).confirmation
    assert found is not None
    assert (found.outcome, found.reason) == (alone, "reason 2")
    assert (found.seconds, found.directory) == (2.0, "cells/a/2")


def test_a_run_that_needed_none_has_no_confirmation():
    blank = sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.UNKNOWN)
    assert summed_up(blank, [run(1, Outcome.FAIL)], ROOT).confirmation is None
