"""No reader meets a row that is torn, or that nobody has written."""

from __future__ import annotations

import pytest

from harness.checkers.rows_whole import CHECKER
from harness.model.verdict import Contract
from tests.unit.harness.checkers.storage_histories import HonestRing


@pytest.fixture
def ring() -> HonestRing:
    made = HonestRing()
    made.extend(4)
    return made


def texts(ring: HonestRing) -> list[str]:
    return [finding.text for finding in CHECKER.check(ring.history()).findings]


def test_whole_rows_pass(ring):
    ring.read()
    ring.sample((0, 1), (0, 4))
    judgement = CHECKER.check(ring.history())
    assert (judgement.findings, judgement.judged) == ((), 6)


def test_a_history_in_which_nothing_was_read_is_no_evidence(ring):
    assert CHECKER.check(ring.history()).judged == 0


def test_a_torn_row_is_found(ring):
    ring.sample((0, 2), wrong=["body"], slot=[1])
    (finding,) = CHECKER.check(ring.history()).findings
    assert "torn row in slot 1: it is row 2 of stream 0, but not its body" in finding.text
    assert finding.contract is Contract.EQUIVALENCE


def test_a_row_of_zeros_is_found(ring):
    ring.sample((-1, 0))
    assert "nobody has written" in texts(ring)[0]


@pytest.mark.parametrize("row", [(0, 5), (1, 1), (7, 2)])
def test_a_row_that_nobody_was_asked_for_is_found(ring, row):
    ring.sample(row)
    assert "nobody was asked for" in texts(ring)[0]


def test_a_row_that_is_being_written_may_be_there(ring):
    ring.invoke(2)
    ring.sample((0, 6))
    assert texts(ring) == []


def test_a_length_ahead_of_the_data_is_found(ring):
    ring.read(length=5)
    assert "a length of 5, ahead of what can be read" in texts(ring)[0]


def test_many_broken_rows_of_one_call_are_told_a_few_times(ring):
    ring.sample(*[(-1, 0)] * 20)
    assert len(texts(ring)) == 3
