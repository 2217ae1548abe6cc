"""The matrix: rows x backends."""

from __future__ import annotations

from dataclasses import replace

from harness.model.standing import Standing
from harness.report.matrix import columns, entries, groups
from tests.unit.harness.report import sample


def test_every_cell_stands_once_in_the_matrix():
    found = entries(sample.record())
    placed = [
        entry.cell.id
        for group in groups(found, sample.BACKENDS)
        for scenario in group.scenarios
        for row in scenario.rows
        for column in row.columns
        for entry in column
    ]
    assert sorted(placed) == sorted(entry.cell.id for entry in found)


def test_the_rows_are_grouped_by_component():
    found = groups(entries(sample.record()), sample.BACKENDS)
    assert [(group.component, len(group.scenarios)) for group in found] == [
        ("pool", 3),
        ("weights", 2),
    ]


def test_a_cell_that_was_not_run_is_an_empty_column():
    row = groups(entries(sample.record()), sample.BACKENDS)[0].scenarios[0].rows[1]
    assert [len(column) for column in row.columns] == [1, 1, 0]


def test_two_cells_with_one_id_have_different_pages():
    record = replace(sample.record(), cells=(sample.fail(), sample.fail()))
    assert len({entry.page for entry in entries(record)}) == 2


def test_a_page_has_a_name_that_every_file_system_takes():
    ids = ("a b\nc", "../../a:b", "x" * 1000)
    record = replace(sample.record(), cells=tuple(replace(sample.fail(), id=each) for each in ids))
    names = [entry.page for entry in entries(record)]
    assert names[:2] == ["pages/a_b_c.html", "pages/.._.._a_b.html"]
    assert len(str(names[2])) < 200


def test_a_self_test_leaves_out_the_cells_that_passed():
    found = entries(sample.selftest())
    assert [entry.cell.id for entry in found] == [
        "pool/partial_reset[transport=thread]@mask_lost-planted"
    ]


def test_the_segments_of_a_bar_fill_it():
    for column in columns(sample.record()):
        last = column.segments[-1]
        assert round(last.start + last.width, 6) == 100


def test_a_backend_that_ran_nothing_has_an_empty_bar():
    assert columns(replace(sample.record(), cells=()))[0].segments == ()


def test_the_remarks_on_a_backend_begin_with_the_most_urgent():
    remarks = columns(sample.record())[1].remarks
    assert [where for where, _ in remarks] == [
        Standing.HARNESS,
        Standing.WORSE,
        Standing.INCONCLUSIVE,
        Standing.BETTER,
        Standing.LISTED,
    ]
