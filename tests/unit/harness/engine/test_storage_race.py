"""Writers start together, and it is counted how many of their batches met another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from harness.engine import storage_race
from harness.engine.storage_race import met
from harness.engine.storage_workers import WriterGone
from harness.payloads.storage_worker import Done, Go, Prepare, Write


@pytest.mark.parametrize(
    ("extends", "samples", "count"),
    [
        ([[(0, 1), (2, 3)], [(4, 5), (6, 7)]], [], 0),
        ([[(0, 10)], [(1, 2), (3, 4)]], [], 3),
        ([[(0, 2), (4, 6)], [(1, 3)]], [], 2),
        ([[(0, 2)], [(2, 4)]], [], 0),
        ([[(0, 2), (5, 9)], []], [(1, 3), (4, 5)], 1),
        ([[(0, 1)]], [(0, 1)], 1),
        ([], [(0, 1)], 0),
    ],
)
def test_a_batch_met_another_if_both_were_under_way(
    extends: list[list[tuple[int, int]]], samples: list[tuple[int, int]], count: int
):
    assert met(extends, samples) == count


class Scripted:
    """A writer that answers this to what it is told, one after the other."""

    def __init__(self, pid: int, *answers: Any) -> None:
        self.pid = pid
        self.answers = list(answers)
        self.told: list[Any] = []

    def tell(self, told: Any) -> None:
        self.told.append(told)

    def has_answered(self) -> bool:
        return True

    def answer(self) -> Done:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Done)
        return answer


def raced(*workers: Scripted) -> tuple[list[str], int]:
    given: Sequence[Any] = workers
    return storage_race.run(given, [Write(first=1, rows=1)] * len(workers), None)


def test_nobody_begins_before_all_are_ready():
    one, other = (Scripted(pid, Done(), Done(spans=[(0, 5)])) for pid in (1, 2))
    assert raced(one, other) == (["stored", "stored"], 2)
    assert one.told == [Prepare(write=Write(first=1, rows=1)), Go()]


def test_a_writer_that_is_gone_is_told_and_the_others_go_on():
    one, other = Scripted(1, WriterGone()), Scripted(2, Done(), Done(spans=[(0, 5)]))
    third = Scripted(3, Done(), WriterGone())
    assert raced(one, other, third) == (["gone", "stored", "gone"], 0)
    assert Go() not in one.told


def test_what_one_raised_is_raised_once_all_have_answered():
    one, other = Scripted(1, Done(), ValueError("no")), Scripted(2, Done(), Done())
    with pytest.raises(ValueError, match="no"):
        raced(one, other)
    assert other.answers == []
