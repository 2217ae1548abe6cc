"""Where a cell stands against what was expected, and how cells add up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.engine.expectations import exit_code
from harness.model.standing import Standing, standing
from harness.model.verdict import Contract, Finding, Outcome
from harness.report.standing import (
    MEANING,
    backend_ids,
    counts,
    differing,
    judged,
    repeats,
    row_name,
    scenario_name,
)
from tests.unit.harness.report import sample

O = Outcome  # noqa: E741 - the table below is read by columns


@pytest.mark.parametrize(
    ("outcome", "listed", "expected"),
    [
        (O.PASS, None, Standing.EXPECTED),
        (O.UNSUPPORTED, None, Standing.EXPECTED),
        (O.FAIL, None, Standing.WORSE),
        (O.LEAK, None, Standing.WORSE),
        (O.HANG, None, Standing.WORSE),
        (O.CRASH, None, Standing.WORSE),
        (O.UNKNOWN, None, Standing.INCONCLUSIVE),
        (O.VACUOUS, None, Standing.INCONCLUSIVE),
        (O.HARNESS_ERROR, None, Standing.HARNESS),
        (O.FAIL, O.FAIL, Standing.LISTED),
        (O.UNKNOWN, O.UNKNOWN, Standing.LISTED),
        (O.HANG, O.FAIL, Standing.WORSE),
        (O.FAIL, O.HANG, Standing.BETTER),
        (O.PASS, O.HANG, Standing.BETTER),
        (O.UNSUPPORTED, O.HANG, Standing.BETTER),
        (O.VACUOUS, O.HANG, Standing.INCONCLUSIVE),
        (O.HARNESS_ERROR, O.HANG, Standing.HARNESS),
    ],
)
def test_an_outcome_is_compared_with_the_listed_one(
    outcome: Outcome, listed: Outcome | None, expected: Standing
):
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, outcome)
    assert standing(replace(cell, expected=listed)) is expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [(O.HANG, Standing.NOT_HERE), (O.UNSUPPORTED, Standing.LISTED), (None, Standing.EXPECTED)],
)
def test_a_listed_cell_that_this_machine_cannot_run_is_no_better(
    listed: Outcome | None, expected: Standing
):
    cell = replace(sample.unsupported(sample.HELD, ""), expected=listed, lacking=True)
    assert standing(cell) is expected


@pytest.mark.parametrize("strict", [True, False])
def test_a_listed_cell_that_this_machine_cannot_run_fails_nothing(*, strict: bool):
    cell = replace(sample.unsupported(sample.HELD, ""), expected=O.HANG, lacking=True)
    other = sample.cell(sample.CLOSED, "", sample.TORCHRL, O.PASS)
    assert exit_code([cell, other], strict=strict) == 0


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (O.HANG, Standing.LISTED),
        (O.PASS, Standing.LISTED),
        (O.CRASH, Standing.WORSE),
        (O.FAIL, Standing.BETTER),
        (O.UNKNOWN, Standing.INCONCLUSIVE),
    ],
)
def test_a_cell_that_a_race_decides_may_come_to_any_outcome_that_is_listed(
    outcome: Outcome, expected: Standing
):
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, outcome)
    assert standing(replace(cell, expected=O.HANG, expected_also=(O.PASS,))) is expected


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("listed", [None, *Outcome])
def test_the_standing_agrees_with_the_exit_code(outcome: Outcome, listed: Outcome | None):
    codes = {Standing.WORSE: 1, Standing.INCONCLUSIVE: 2, Standing.HARNESS: 3}
    blank = sample.cell(sample.CLOSED, "", sample.TORCHRL, Outcome.PASS)
    cell = replace(blank, outcome=outcome, expected=listed)
    assert codes.get(standing(cell), 0) == exit_code([cell, blank])


def test_a_run_in_which_nothing_was_judged_is_inconclusive():
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, Outcome.UNSUPPORTED)
    assert exit_code([cell, cell]) == 2


def test_every_outcome_is_explained():
    assert set(MEANING) == set(Outcome)


def test_what_differs_comes_in_the_order_of_urgency():
    found = differing(sample.record().cells)
    assert list(found) == [
        Standing.HARNESS,
        Standing.WORSE,
        Standing.INCONCLUSIVE,
        Standing.BETTER,
    ]


def test_the_counts_add_up_to_the_cells():
    cells = sample.record().cells
    assert sum(counts(cells).values()) == len(cells)


def test_unsupported_and_harness_errors_are_not_judged():
    assert (judged(sample.record().cells), len(sample.record().cells)) == (16, 19)


def test_repeats_count_the_outcome_that_counts():
    assert repeats(sample.hang()) == "3 of 5"


def test_a_single_run_has_no_repeats():
    assert repeats(sample.fail()) is None


def test_a_backend_that_only_cells_name_is_a_column():
    record = sample.record()
    found = backend_ids(replace(record, backends=record.backends[:1]))
    assert (found[0], sorted(found)) == (sample.REFERENCE, sorted(sample.BACKENDS))


def test_a_row_is_named_without_its_backend():
    assert row_name(sample.vacuous()) == "weights/held_forward[]"


def test_the_scenario_is_named_as_in_the_id():
    assert scenario_name(sample.hang()) == "closed_result_channel"


ROUTED = Finding(checker="routing", text="not its own", contract=Contract.EQUIVALENCE)


@pytest.mark.parametrize(
    ("changes", "outcome", "expected"),
    [
        ({}, O.FAIL, Standing.WORSE),
        ({}, O.HANG, Standing.WORSE),
        ({}, O.LEAK, Standing.WORSE),
        ({"checker": "bounded_calls"}, O.HANG, Standing.LISTED),
        ({"checker": "bounded_calls"}, O.FAIL, Standing.BETTER),
        ({"time": True}, O.HANG, Standing.LISTED),
        ({"contract": Contract.OPINION}, O.HANG, Standing.LISTED),
        ({}, O.UNKNOWN, Standing.INCONCLUSIVE),
        ({}, O.HARNESS_ERROR, Standing.HARNESS),
    ],
)
def test_what_another_checker_finds_than_is_listed_is_worse(
    changes: dict[str, Any], outcome: Outcome, expected: Standing
):
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, outcome)
    cell = replace(cell, expected=O.HANG, findings=(replace(ROUTED, **changes),))
    assert standing(replace(cell, expected_checkers=("bounded_calls",))) is expected


def test_a_list_that_names_no_checker_speaks_of_all():
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, O.HANG)
    assert standing(replace(cell, expected=O.HANG, findings=(ROUTED,))) is Standing.LISTED
