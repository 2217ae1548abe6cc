"""The Markdown summary, which is also read in terminals."""

from __future__ import annotations

from dataclasses import replace

from harness.model.run import CellResult, RunRecord
from harness.model.verdict import Outcome
from harness.report import summary
from harness.report.summary import ROWS_MAX
from tests.unit.harness.report import sample


def rendered(*cells: CellResult) -> str:
    return summary.render(replace(sample.record(), cells=cells))


def line_with(text: str, word: str) -> str:
    return next(line for line in text.splitlines() if word in line)


def words(line: str) -> list[str]:
    return [word.strip() for word in line.strip("|").split("|")]


def test_a_row_has_the_outcome_of_each_backend():
    line = line_with(summary.render(sample.record()), "transport=process]` |")
    assert words(line)[1:] == ["PASS", "HANG, listed", "PASS"]


def test_a_backend_is_counted_in_one_line():
    lines = summary.render(sample.record()).splitlines()
    head = next(line for line in lines if line.startswith("| backend"))
    line = next(line for line in lines if line.startswith("| `torchrl"))
    found = dict(zip(words(head), words(line), strict=True))
    assert (found["judged"], found["PASS"], found["HANG"], found["CRASH"]) == (
        "6 of 7",
        "2",
        "1",
        "0",
    )


def test_the_columns_of_a_table_are_aligned():
    table = [line for line in summary.render(sample.record()).splitlines() if line[:1] == "|"]
    assert len({len(line) for line in table}) == 2  # one width for each of the two tables


def test_a_cell_that_is_worse_is_listed_with_its_replay():
    cell = sample.fail()
    assert f"  replay: `{cell.replay}`" in rendered(cell)


def test_a_cell_that_is_as_listed_is_not_among_the_differences():
    assert "All cells are as expected." in rendered(sample.hang())


def test_a_listed_cell_that_passes_is_announced():
    assert "## Better than listed (1)" in rendered(sample.better())


def test_a_listed_cell_that_this_machine_cannot_run_is_said_to_be_not_run():
    cell = replace(
        sample.unsupported(sample.HELD, ""), expected=Outcome.HANG, lacking=True, reason="no root"
    )
    text = rendered(cell)
    assert "UNSUPPORTED, not run here" in text
    assert "All cells are as expected." in text


def test_an_interrupted_run_says_so():
    text = summary.render(replace(sample.record(), interrupted=True))
    assert "**Interrupted" in text


def test_a_run_that_could_not_go_on_says_why():
    text = summary.render(replace(sample.record(), failed="no space left"))
    assert "**The harness could not go on: no space left**" in text


def test_beyond_the_limit_quiet_rows_are_only_counted():
    fine = [
        sample.cell(sample.CLOSED, f"n={n}", sample.TORCHRL, Outcome.PASS) for n in range(ROWS_MAX)
    ]
    assert f"{ROWS_MAX} rows without anything red not shown." in rendered(*fine, sample.fail())


def test_a_bar_in_a_row_does_not_end_its_column():
    cell = sample.cell(sample.CLOSED, "a=x|y", sample.TORCHRL, Outcome.PASS)
    assert "a=x\\|y" in rendered(cell)


def test_a_reason_cannot_bring_markup():
    cell = replace(sample.fail(), reason="<script> *bold* [a](b)\n# head")
    assert "\\<script> \\*bold\\* [a]\\(b) # head" in rendered(cell)


def test_a_command_with_backticks_is_kept():
    assert "`` echo `id`  x ``" in rendered(replace(sample.fail(), replay="echo `id`  x"))


def test_an_empty_run_says_so():
    assert "No cells." in summary.render(RunRecord())


def test_a_self_test_is_told_by_its_bugs_and_rows():
    text = summary.render(sample.selftest())
    assert "- 1 of 2 planted bugs are caught as declared" in text
    assert "- pool: 1 of 3 rows have power" in text
    assert words(line_with(text, "partial_reset[transport=thread]` |"))[1:] == [
        "1",
        "mask_lost, step_lost",
    ]


def test_a_row_that_no_variant_runs_says_so():
    line = line_with(summary.render(sample.selftest()), "spawned_clean_run")
    assert words(line)[1] == "none: no variant runs it"
