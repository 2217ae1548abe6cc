"""The committed smoke selection: its rows exist, stay quick, and stand for every planted bug."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from harness.engine.loading import find, load
from harness.engine.smoke import read
from harness.planted.catalogue import PLANTED

SCENARIOS = Path(__file__).parents[2] / "scenarios"
CHOSEN = read(SCENARIOS / "smoke.toml")
SECONDS_MAX = 90.0  # a component, of one backend that is well, one cell at a time
AGAIN = "take the smoke.toml that `harness selftest` leaves in its run's directory"


def test_each_row_of_the_selection_exists():
    rows = {row for loaded in map(load, find((SCENARIOS,))) for row in loaded.row_ids()}
    assert {each.row for each in CHOSEN} - rows == set(), AGAIN


def test_the_selection_catches_every_planted_bug():
    caught = {name for each in CHOSEN for name in each.catches}
    assert {bug.name for bug in PLANTED} - caught == set(), AGAIN


def test_each_row_catches_the_bugs_that_it_stands_for():
    declared = {(bug.name, row) for bug in PLANTED for row in bug.rows}
    claimed = {(name, each.row) for each in CHOSEN for name in each.catches}
    assert claimed - declared == set(), AGAIN


def test_the_selection_is_quick():
    seconds: dict[str, float] = defaultdict(float)
    for each in CHOSEN:
        seconds[each.row.split("/")[0]] += each.seconds
    assert max(seconds.values()) < SECONDS_MAX, seconds
