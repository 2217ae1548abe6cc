"""The scales of the drawings keep order and stay within their ends."""

from __future__ import annotations

import pytest

from harness.report.scale import DurationScale, TimeScale, seconds

MS = 1_000_000


def test_times_keep_their_order():
    times = [0, MS, 2 * MS, 5_000 * MS, 5_001 * MS]
    scale = TimeScale(times, 100, 800)
    places = [scale.x(at) for at in times]
    assert places == sorted(places)
    assert (places[0], round(places[-1])) == (100, 900)


def test_a_long_wait_leaves_room_for_what_is_short():
    scale = TimeScale([0, MS, 10_000 * MS, 10_001 * MS], 0, 1000)
    assert scale.x(MS) > 30
    assert scale.x(10_000 * MS) < 970


def test_a_time_between_two_lies_between_them():
    scale = TimeScale([0, MS, 9 * MS], 0, 100)
    assert scale.x(MS) < scale.x(4 * MS) < scale.x(9 * MS)


def test_a_time_beyond_the_ends_is_at_the_end():
    scale = TimeScale([5 * MS, 9 * MS], 0, 100)
    assert (scale.x(0), scale.x(99 * MS)) == (0, 100)


def test_ticks_say_how_long_after_the_earliest():
    ticks = TimeScale([5 * MS, 9 * MS], 0, 100).ticks()
    assert [(tick.x, tick.label) for tick in (ticks[0], ticks[-1])] == [(0, "0"), (100, "4 ms")]


def test_one_time_alone_is_a_scale():
    scale = TimeScale([5], 7, 100)
    assert (scale.x(5), [tick.label for tick in scale.ticks()]) == (7, ["0"])


def test_durations_are_placed_by_powers_of_ten():
    scale = DurationScale(0.001, 10, 0, 400)
    assert [round(scale.x(each)) for each in (0.001, 0.01, 0.1, 1, 10)] == [0, 100, 200, 300, 400]


@pytest.mark.parametrize(("duration_s", "expected"), [(0.0, 0), (-1.0, 0), (1e9, 400)])
def test_a_duration_beyond_the_ends_is_at_the_end(duration_s: float, expected: int):
    assert round(DurationScale(0.001, 10, 0, 400).x(duration_s)) == expected


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (4e-5, "40 µs"), (0.0123, "12.3 ms"), (7.5, "7.5 s")]
)
def test_a_duration_has_the_unit_that_suits_it(value: float, text: str):
    assert seconds(value) == text
