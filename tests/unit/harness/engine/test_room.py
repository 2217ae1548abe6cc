"""Who confirms a run is alone: others finish what they are at, and begin nothing."""

from __future__ import annotations

from typing import Any

import pytest

from harness.engine import room
from harness.engine.room import Room


@pytest.fixture
def make(tmp_path):
    made = []

    def one() -> Room:
        made.append(Room(tmp_path))
        return made[-1]

    yield one
    for each in made:
        each.close()


@pytest.fixture
def waits(monkeypatch):
    """What is done while somebody waits, once a look."""
    steps: list[Any] = []
    monkeypatch.setattr(room, "pause", lambda _: steps.pop(0)())
    return steps


def test_many_are_in_it_beside_each_other(make):
    with make().entered(), make().entered():
        pass


def test_who_is_the_only_one_is_alone_at_once(make):
    one = make()
    with one.entered():
        assert one.alone()
        assert one.alone()


def test_who_wants_to_be_alone_waits_for_those_that_are_in_it(make):
    one, other = make(), make()
    with one.entered():
        with other.entered():
            assert not one.alone()
        assert one.alone()


def test_nobody_enters_before_who_waits_to_be_alone_has_been(make, waits):
    one, other, late = make(), make(), make()
    first = one.entered()
    first.__enter__()
    told = []

    def others_leave() -> None:
        told.append(one.alone())

    def done() -> None:
        told.append("left")
        first.__exit__(None, None, None)

    with other.entered():
        assert not one.alone()
        second = late.entered()
        waits += [others_leave, done]
        second.__enter__()
    assert told == [False, "left"]
    second.__exit__(None, None, None)


def test_two_that_want_to_be_alone_are_one_after_the_other(make):
    one, other = make(), make()
    with other.entered():
        with one.entered():
            assert not one.alone()
            assert not other.alone()
            assert one.alone()
            assert not other.alone()
        assert other.alone()


def test_who_has_waited_for_too_long_goes_on(make, monkeypatch):
    monkeypatch.setattr(room, "WAIT_S", 0.0)
    one, other = make(), make()
    with one.entered(), other.entered():
        assert other.alone()
        with make().entered():
            pass
