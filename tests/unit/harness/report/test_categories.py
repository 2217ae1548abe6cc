"""Cells add up by component and by kind of fault."""

from __future__ import annotations

from dataclasses import replace

from harness.model.run import CellResult
from harness.model.verdict import Outcome
from harness.report.categories import NO_FAULT, NOT_KNOWN, Category, categories, totals
from tests.unit.harness.report import sample


def faults(*cells: CellResult) -> dict[str, Category]:
    (found,) = categories(replace(sample.record(), cells=cells))
    return {each.name: each for each in found.faults}


def test_the_lines_of_components_add_up_to_the_columns():
    whole = [each.whole.tallies for each in categories(sample.record())]
    for column, total in zip(zip(*whole, strict=True), totals(sample.record()), strict=True):
        assert sum(each.total for each in column) == total.total
        assert sum(each.judged for each in column) == total.judged


def test_what_was_not_judged_is_not_among_the_outcomes():
    for each in totals(sample.record()):
        found = dict(each.outcomes)
        assert Outcome.UNSUPPORTED not in found
        assert sum(n for o, n in found.items() if o is not Outcome.HARNESS_ERROR) == each.judged


def test_a_cell_counts_for_the_kind_of_its_fault():
    assert faults(sample.hang())["close_channel"].tallies[1].total == 1


def test_a_cell_without_a_fault_counts_as_such():
    assert list(faults(sample.fail())) == [NO_FAULT]


def test_a_cell_that_was_not_run_counts_for_the_faults_of_its_scenario():
    absent = sample.unsupported(sample.CLOSED, "exchange=value,transport=process")
    found = faults(sample.hang(), absent)["close_channel"].tallies[2]
    assert (found.judged, found.total) == (0, 1)


def test_a_scenario_that_nobody_ran_has_no_known_fault():
    assert list(faults(sample.unsupported(sample.CLOSED, "x=y"))) == [NOT_KNOWN]
