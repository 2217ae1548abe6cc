"""The page of a cell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.run import CellResult, Confirmation
from harness.model.verdict import Outcome
from harness.report import cell
from harness.report.matrix import entries
from tests.unit.harness.report import sample
from tests.unit.harness.report.pages import Page


def of(found: CellResult, run_dir: Path, *others: CellResult) -> Page:
    return Page(texts_of((found, *others), run_dir)[0])


def texts_of(cells: tuple[CellResult, ...], run_dir: Path) -> list[str]:
    record = replace(sample.record(), cells=cells)
    return [text for _, text in cell.pages(entries(record), run_dir)]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("run")
    sample.write_cells(sample.record(), path)
    return texts_of(sample.record().cells, path)


def ran() -> list[CellResult]:
    return [each for each in sample.record().cells if each.outcome is not Outcome.UNSUPPORTED]


def test_every_cell_that_ran_shows_its_replay_command(texts: list[str]):
    assert len(texts) == len(ran())
    for each, text in zip(ran(), texts, strict=True):
        assert each.replay.replace("'", "&#39;") in text


def test_a_missing_directory_is_shown(tmp_path: Path):
    assert "cells/missing is missing" in of(sample.broken(), tmp_path).content


def test_a_cell_without_files_says_so(tmp_path: Path):
    found = of(replace(sample.hang(), directory=None), tmp_path)
    assert "No files were kept for this cell." in found.content


def test_opinions_are_marked_as_such(tmp_path: Path):
    assert "findings c-opinion" in of(sample.hang(), tmp_path).values("div", "class")


def test_the_same_row_on_other_backends_is_linked(tmp_path: Path):
    scenario, row = sample.MASKED, "transport=thread"
    outcomes = (Outcome.PASS, Outcome.FAIL, Outcome.UNSUPPORTED)
    three = [
        sample.cell(scenario, row, backend, outcome)
        for backend, outcome in zip(sample.BACKENDS, outcomes, strict=True)
    ]
    elsewhere = sample.cell(sample.HELD, "", sample.TORCHRL, Outcome.PASS)
    links = of(three[0], tmp_path, *three[1:], elsewhere).values("a", "href")
    assert links == [
        "../index.html",
        "pool_partial_reset_transport%3Dthread_%40torchrl-0.14.1.html",
    ]


def test_a_cell_with_a_journal_is_drawn(tmp_path: Path):
    sample.write_cell(tmp_path / "cell", Outcome.HANG)
    found = of(replace(sample.hang(), directory="cell"), tmp_path)
    assert "drawing" in found.values("svg", "class")
    assert "drawing latency" in found.values("svg", "class")


def test_a_long_journal_is_drawn_within_bounds(tmp_path: Path):
    sample.write_cell(tmp_path / "cell", Outcome.PASS)
    lines = [
        line
        for n in range(5_000)
        for line in (
            sample.event(3 * n, "invoke", "step", n, deadline_s=1.0, grace_s=2.0, actions=[n]),
            sample.event(3 * n + 1, "observe", "step", action=n),
            sample.event(3 * n + 2, "ok", "step", n),
        )
    ]
    (tmp_path / "cell" / "journal.jsonl").write_text("\n".join(lines))
    found = replace(sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.PASS), directory="cell")
    (text,) = texts_of((found,), tmp_path)
    assert len(text) < 190_000


def test_a_run_that_confirmed_another_is_shown_and_linked(tmp_path: Path):
    sample.write_cell(tmp_path / "cell" / "1", Outcome.HANG)
    sample.write_cell(tmp_path / "cell" / "2", Outcome.PASS)
    alone = Confirmation(
        outcome=Outcome.PASS, reason="all was well", seconds=0.5, directory="cell/2"
    )
    found = of(replace(sample.hang(), directory="cell/1", confirmation=alone), tmp_path)
    assert "run again, alone" in found.content
    assert any("all was well" in text for text in found.content)
    assert "../cell/2/journal.jsonl" in found.values("a", "href")


def test_a_cell_that_needed_no_confirmation_says_nothing_of_one(texts: list[str]):
    assert not any("run again, alone" in text for text in texts)
