"""Rows are named many at a time."""

from __future__ import annotations

from harness.planted.rows import rows


def test_a_pattern_without_choices_is_one_row():
    assert rows("pool", "failing_env[]") == {"pool/failing_env[]"}


def test_every_combination_of_the_choices_is_a_row():
    assert rows("pool", "a[x={1|2},y={3|4}]") == {
        "pool/a[x=1,y=3]",
        "pool/a[x=1,y=4]",
        "pool/a[x=2,y=3]",
        "pool/a[x=2,y=4]",
    }


def test_patterns_add_up():
    assert rows("weights", "a[]", "b[x={1|2}]") == {
        "weights/a[]",
        "weights/b[x=1]",
        "weights/b[x=2]",
    }
