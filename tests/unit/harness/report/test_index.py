"""The page of a run."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

import pytest

from harness.model.run import CellResult, RunRecord
from harness.model.verdict import Outcome
from harness.report import index
from harness.report.matrix import entries
from tests.unit.harness.report import sample
from tests.unit.harness.report.pages import Page


def shown(record: RunRecord) -> Page:
    return Page(index.render(record, entries(record)))


def of(*cells: CellResult) -> Page:
    return shown(replace(sample.record(), cells=cells))


@pytest.fixture(scope="module")
def page() -> Page:
    return shown(sample.record())


def test_every_cell_of_the_matrix_has_its_word(page: Page):
    assert all(outcome in page.content for outcome in Outcome)


def test_the_matrix_links_to_each_page_and_cells_that_were_not_run_have_none(page: Page):
    ran = [
        each for each in entries(sample.record()) if each.cell.outcome is not Outcome.UNSUPPORTED
    ]
    links = [unquote(href) for href in page.values("a", "href")]
    assert {each.page for each in ran} == set(links)
    marks = [name.split() for name in page.values("span", "class")]
    assert any({"mark", "o-UNSUPPORTED"} <= set(mark) for mark in marks)


def test_its_size_does_not_grow_with_what_a_cell_did():
    record = sample.record()
    findings = sample.hang().findings * 500
    more = replace(record, cells=tuple(replace(c, findings=findings) for c in record.cells))
    assert len(index.render(more, entries(more))) == len(index.render(record, entries(record)))


def test_an_interrupted_run_says_so():
    record = RunRecord(interrupted=True)
    assert "Interrupted: only what was done until then is shown." in shown(record).content


def test_a_run_that_could_not_go_on_says_why():
    content = shown(RunRecord(failed="no space left")).content
    assert any("could not go on: no space left." in text for text in content)


def test_an_empty_run_says_so():
    assert "No cell was run." in shown(RunRecord()).content


def test_without_differences_the_page_says_so():
    assert "Every cell is as expected." in of(sample.hang()).content


def test_what_differs_is_listed_with_its_reason(page: Page):
    differs = [each for each in entries(sample.record()) if each.differs]
    assert differs
    told = {text.strip() for text in page.content}
    assert {each.reason for each in differs} <= told


def test_the_categories_say_how_much_was_judged(page: Page):
    assert any(text.startswith("judged ") for text in page.content)


def test_a_self_test_says_how_many_rows_have_power():
    assert "pool: 1 of 3 rows have power" in shown(sample.selftest()).content


def test_a_planted_bug_links_to_the_red_cells_that_are_shown():
    links = [unquote(href) for href in shown(sample.selftest()).values("a", "href")]
    assert set(links) == {"pages/pool_partial_reset_transport=thread_@mask_lost-planted.html"}


def test_a_self_test_lists_the_cells_that_were_not_green_with_their_reasons():
    (entry,) = entries(sample.selftest())
    told = {text.strip() for text in shown(sample.selftest()).content}
    assert {entry.cell.id, entry.reason} <= told


def test_a_bug_that_is_not_caught_as_declared_says_where():
    assert "not red: pool/failing_env[transport=thread]" in shown(sample.selftest()).content
