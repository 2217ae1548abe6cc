"""Which bugs a row catches, what power that is, and the rows that suffice."""

from __future__ import annotations

from dataclasses import replace

from harness.engine.power import cover, power_of
from harness.model.run import CellResult
from harness.model.selftest import BugSeen, RowSeen, Selftest
from harness.model.verdict import Outcome
from tests.unit.harness.report import sample

CLEAN, FAILING, RESETS = "pool/clean_run[]", "pool/failing_env[]", "pool/partial_reset[]"


def caught(name: str, *red: str) -> BugSeen:
    return BugSeen(
        name=name,
        text="",
        caught_by="routing",
        right=True,
        red=red,
        expected=red,
        hidden=(),
        checkers=("routing",),
    )


def cell(row: str, seconds: float = 0.2, outcome: Outcome = Outcome.PASS) -> CellResult:
    name = row.partition("/")[2].partition("[")[0]
    found = sample.cell(("pool", name, ""), "", "planted-1", outcome)
    return replace(found, seconds=seconds)


CELLS = [cell(CLEAN), cell(FAILING), cell(RESETS)]
ROWS = [CLEAN, FAILING, RESETS]


def by_row(*bugs: BugSeen, cells: list[CellResult] = CELLS) -> dict[str, RowSeen]:
    return {row.row: row for row in power_of(bugs, cells, ROWS)}


def test_a_row_has_power_over_the_bugs_that_no_clean_run_catches():
    found = by_row(caught("both", CLEAN, FAILING), caught("one", FAILING))
    assert found[FAILING].catches == ("both", "one")
    assert found[FAILING].beyond == ("one",)


def test_a_row_that_was_not_run_has_no_power_and_is_counted():
    found = by_row(caught("one", FAILING), cells=CELLS[:2])
    assert found[RESETS].beyond == ()


def test_a_clean_run_has_no_power_of_its_own():
    found = by_row(caught("both", CLEAN, FAILING))
    assert (found[CLEAN].clean, found[CLEAN].beyond) == (True, ())


def test_power_is_counted_without_the_clean_runs():
    rows = power_of([caught("both", CLEAN, FAILING), caught("one", FAILING)], CELLS, ROWS)
    assert Selftest(bugs=(), rows=rows).power() == {"pool": (1, 2)}


def test_rows_of_components_that_no_bug_is_in_are_left_out():
    assert power_of([caught("one", "weights/clean_updates[]")], CELLS, ROWS) == ()


def test_what_a_row_takes_is_the_median_over_variants():
    cells = [cell(FAILING, seconds) for seconds in (9.0, 0.1, 0.3)]
    assert by_row(caught("one", FAILING), cells=cells)[FAILING].seconds == 0.3


def test_a_row_that_ran_on_no_variant_took_nothing():
    cells = [cell(FAILING), cell(RESETS, outcome=Outcome.UNSUPPORTED)]
    assert by_row(caught("one", FAILING), cells=cells)[RESETS].seconds is None


def row(name: str, seconds: float, *catches: str) -> RowSeen:
    return RowSeen(row=name, clean=False, catches=catches, beyond=catches, seconds=seconds)


def test_the_cover_catches_whatever_any_row_catches():
    chosen = cover([row("a", 1, "x", "y"), row("b", 1, "y", "z"), row("c", 1)])
    assert {name for each in chosen for name in each.catches} == {"x", "y", "z"}


def test_the_cover_prefers_what_is_quick():
    assert [each.row for each in cover([row("b", 9, "x"), row("a", 1, "x")])] == ["a"]


def test_the_cover_has_no_row_that_the_others_make_superfluous():
    rows = [row("a", 0.1, "x", "y"), row("b", 1, "x", "z"), row("c", 1, "y", "v")]
    assert sorted(each.row for each in cover(rows)) == ["b", "c"]


def test_each_bug_stands_beside_one_row():
    chosen = cover([row("a", 0.1, "x", "y"), row("b", 1, "y", "z")])
    assert sorted(name for each in chosen for name in each.catches) == ["x", "y", "z"]


def test_clean_runs_are_in_every_cover_but_those_that_no_variant_runs():
    clean = replace(row("a", 9), clean=True)
    spawned = replace(row("b", 9), clean=True, seconds=None)
    assert [each.row for each in cover([clean, spawned, row("c", 1)])] == ["a"]


def test_nothing_caught_needs_no_rows():
    assert cover([row("a", 1)]) == ()
