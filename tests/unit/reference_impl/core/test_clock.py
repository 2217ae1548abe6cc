"""Deadlines count down on the clock that they were made with."""

from __future__ import annotations

import pytest

from reference_impl.core.clock import MONOTONIC, NEVER, Deadline


class HandClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time_s = 100.0

    def now(self) -> float:
        return self.time_s


@pytest.fixture
def clock():
    return HandClock()


def test_what_is_left_becomes_less(clock):
    deadline = Deadline.after(5.0, clock)
    clock.time_s += 2.0
    assert deadline.left() == 3.0


def test_what_is_left_is_never_negative(clock):
    deadline = Deadline.after(5.0, clock)
    clock.time_s += 9.0
    assert (deadline.left(), deadline.expired) == (0.0, True)


def test_a_deadline_of_zero_has_come(clock):
    assert Deadline.after(0.0, clock).expired


def test_never_does_not_come(clock):
    assert (NEVER.left(), NEVER.expired, Deadline.after(None, clock).expired) == (
        None,
        False,
        False,
    )


def test_the_sooner_of_two_is_kept(clock):
    soon, late, never = (Deadline.after(s, clock) for s in (1.0, 2.0, None))
    for one, other in ((soon, late), (late, soon), (soon, never), (never, soon)):
        assert one.sooner(other) is soon


def test_the_later_of_two_is_kept(clock):
    soon, late, never = (Deadline.after(s, clock) for s in (1.0, 2.0, None))
    for one, other in ((soon, late), (late, soon), (never, late), (late, never)):
        assert one.later(other) is not soon
        assert one.later(other) in (late, never)
    assert late.later(never) is never.later(late) is never


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_time_that_is_no_time_is_refused(seconds):
    with pytest.raises(ValueError, match="seconds"):
        Deadline.after(seconds)


def test_the_machines_clock_does_not_go_backwards():
    assert MONOTONIC.now() <= MONOTONIC.now()
