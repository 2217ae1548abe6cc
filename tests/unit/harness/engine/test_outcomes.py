"""A run that is red for time only is confirmed by one that is done alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.engine.outcomes import (
    Run,
    confirmed,
    doubted,
    judged_again,
    mark_cut_short,
    summed_up,
    unconfirmed,
)
from harness.model.run import CellResult
from harness.model.verdict import Contract, Finding, Outcome, Verdict
from tests.unit.harness.report import sample

ROOT = Path("run")
LATE = Finding(checker="bounded_calls", text="late", contract=Contract.LIVENESS, time=True)
WRONG = Finding(checker="routing", text="wrong", contract=Contract.DOCUMENTED)
ENDLESS = Finding(checker="bounded_calls", text="open", contract=Contract.LIVENESS, time=True)
LEFT = Finding(checker="no_leaks", text="left", contract=Contract.LIVENESS, leak=True)

LATE_LEFT = replace(LEFT, time=True)


def run(number: int, outcome: Outcome, *findings: Finding) -> Run:
    return Run(
        verdict=Verdict(outcome=outcome, reason=f"reason {number}", findings=findings),
        directory=ROOT / "cells" / "a" / str(number),
        seconds=float(number),
    )


def result(alone: Outcome) -> CellResult:
    blank = sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.UNKNOWN)
    return summed_up(blank, [confirmed(run(1, Outcome.HANG), run(2, alone))], ROOT)


@pytest.mark.parametrize("alone", [Outcome.HANG, Outcome.FAIL])
def test_a_hang_that_is_red_again_counts(alone: Outcome):
    assert result(alone).outcome is Outcome.HANG


@pytest.mark.parametrize(
    ("suspect", "alone"),
    [
        (run(1, Outcome.HANG), run(2, Outcome.CRASH)),
        (run(1, Outcome.LEAK, LATE_LEFT), run(2, Outcome.FAIL, WRONG)),
        (run(1, Outcome.FAIL, LATE), run(2, Outcome.HANG, ENDLESS)),
        (run(1, Outcome.FAIL, LATE), run(2, Outcome.FAIL, LATE, WRONG)),
    ],
    ids=["crash", "fail", "hang", "not for time alone"],
)
def test_a_run_alone_that_is_red_for_worse_is_what_counts(suspect: Run, alone: Run):
    found = confirmed(suspect, alone)
    assert (found.verdict, found.directory) == (alone.verdict, alone.directory)
    assert found.alone == alone


def test_a_run_that_is_as_red_alone_keeps_its_own_account():
    suspect = run(1, Outcome.FAIL, LATE)
    assert confirmed(suspect, run(2, Outcome.FAIL, LATE)).verdict == suspect.verdict


@pytest.mark.parametrize("alone", [Outcome.PASS, Outcome.UNKNOWN, Outcome.LEAK])
def test_what_is_wrong_beside_a_hang_that_does_not_come_again_stays(alone: Outcome):
    suspect = run(1, Outcome.HANG, ENDLESS, WRONG, LEFT)
    verdict = confirmed(suspect, run(2, alone)).verdict
    assert (verdict.outcome, verdict.findings) == (Outcome.FAIL, (WRONG, LEFT))
    assert verdict.reason == "routing: wrong (time, 1 of 2: reason 1)"


def test_an_opinion_beside_a_hang_that_does_not_come_again_says_nothing():
    shown = replace(WRONG, contract=Contract.OPINION)
    assert confirmed(
        run(1, Outcome.HANG, ENDLESS, shown), run(2, Outcome.PASS)
    ).verdict.outcome is (Outcome.UNKNOWN)


def test_a_hang_that_does_not_come_again_is_unknown():
    found = result(Outcome.PASS)
    assert (found.outcome, found.reason) == (Outcome.UNKNOWN, "time, 1 of 2: reason 1")


@pytest.mark.parametrize("alone", [Outcome.LEAK, Outcome.HARNESS_ERROR])
def test_what_a_run_alone_shows_beside_time_counts(alone: Outcome):
    found = result(alone)
    assert (found.outcome, found.reason, found.directory) == (alone, "reason 2", "cells/a/2")


@pytest.mark.parametrize("alone", [Outcome.PASS, Outcome.UNKNOWN, Outcome.LEAK])
def test_a_leak_beside_a_doubtful_lateness_stays_a_leak(alone: Outcome):
    suspect = run(1, Outcome.FAIL, LATE, LEFT)
    verdict = confirmed(suspect, run(2, alone)).verdict
    assert (verdict.outcome, verdict.findings) == (Outcome.LEAK, (LEFT,))
    assert verdict.reason == "no_leaks: left (time, 1 of 2: reason 1)"


def test_what_a_budget_left_no_time_to_confirm_is_unknown_but_for_its_leaks():
    assert doubted(run(1, Outcome.FAIL, LATE), "no time").verdict.outcome is Outcome.UNKNOWN
    assert doubted(run(1, Outcome.FAIL, LATE, LEFT), "no time").verdict.outcome is Outcome.LEAK


def test_what_a_hang_leaves_behind_is_no_leak():
    assert doubted(run(1, Outcome.HANG, LEFT), "no time").verdict.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("alone", [Outcome.HANG, Outcome.PASS])
def test_the_run_that_was_done_alone_is_kept(alone: Outcome):
    found = result(alone).confirmation
    assert found is not None
    assert (found.outcome, found.reason) == (alone, "reason 2")
    assert (found.seconds, found.directory) == (2.0, "cells/a/2")


def test_a_run_that_needed_none_has_no_confirmation():
    blank = sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.UNKNOWN)
    assert summed_up(blank, [run(1, Outcome.FAIL)], ROOT).confirmation is None


@pytest.mark.parametrize("today", [run(1, Outcome.FAIL, LATE), run(1, Outcome.HANG)])
def test_a_doubt_is_read_again_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, today: Run
):
    cell = doubted_and_judged_again(tmp_path, monkeypatch, today)
    assert (cell.outcome, cell.reason) == (Outcome.UNKNOWN, "time, not confirmed: reason 1")


@pytest.mark.parametrize("today", [run(1, Outcome.PASS), run(1, Outcome.FAIL, WRONG, LATE)])
def test_a_doubt_is_forgotten_where_the_judges_of_today_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, today: Run
):
    cell = doubted_and_judged_again(tmp_path, monkeypatch, today)
    assert (cell.outcome, cell.reason) == (today.verdict.outcome, "reason 1")


def test_a_run_that_an_interrupt_ended_is_not_judged_later_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole, ended = (tmp_path / "cells" / "a" / name for name in "12")
    for each in (whole, ended):
        each.mkdir(parents=True)
    mark_cut_short(ended)
    of = {whole: Outcome.PASS, ended: Outcome.HARNESS_ERROR}
    monkeypatch.setattr(
        "harness.engine.outcomes.judge_directory",
        lambda each: Verdict(outcome=of[each], reason="", findings=()),
    )
    blank = sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.UNKNOWN)
    found = summed_up(blank, [replace(run(1, Outcome.PASS), directory=whole)], tmp_path)
    assert judged_again(found, tmp_path).outcome is Outcome.PASS


def doubted_and_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, today: Run
) -> CellResult:
    directory = tmp_path / "cells" / "a" / "1"
    directory.mkdir(parents=True)
    suspect = replace(run(1, Outcome.FAIL, LATE), directory=directory)
    found = unconfirmed(suspect)
    monkeypatch.setattr("harness.engine.outcomes.judge_directory", lambda _: today.verdict)
    blank = sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.UNKNOWN)
    return judged_again(summed_up(blank, [found], tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("alone", "wanted"), [(Outcome.LEAK, Outcome.LEAK), (Outcome.PASS, Outcome.UNKNOWN)]
)
def test_a_leak_that_may_only_have_been_late_counts_if_it_comes_again(
    alone: Outcome, wanted: Outcome
):
    assert confirmed(run(1, Outcome.LEAK), run(2, alone)).verdict.outcome is wanted


def test_of_two_repeats_the_one_with_more_than_is_listed_is_told():
    blank = sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.UNKNOWN)
    blank = replace(blank, expected=Outcome.FAIL, expected_checkers=("routing",))
    shape = replace(WRONG, checker="layout", text="another shape")
    runs = [run(1, Outcome.FAIL, WRONG), run(2, Outcome.FAIL, WRONG, shape)]
    found = summed_up(blank, runs, ROOT)
    assert found.directory == "cells/a/2"
    assert found.reason == "beside what is listed, layout: another shape"
