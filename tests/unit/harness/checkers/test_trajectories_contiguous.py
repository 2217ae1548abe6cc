"""Pieces of trajectories are consecutive steps of one."""

from __future__ import annotations

import pytest

from harness.checkers.trajectories_contiguous import CHECKER
from tests.unit.harness.checkers.storage_histories import HonestRing


@pytest.fixture
def ring() -> HonestRing:
    made = HonestRing(capacity=20, setup={"sampler": "slices"})
    made.extend(10)
    made.extend(10, writer=1)
    return made


def test_consecutive_steps_pass(ring):
    ring.sample((0, 1), (0, 2), (0, 3), (1, 8), (1, 9), (1, 10))
    judgement = CHECKER.check(ring.history())
    assert (judgement.findings, judgement.judged) == ((), 2)


def test_a_history_in_which_nothing_was_sampled_is_no_evidence(ring):
    assert CHECKER.check(ring.history()).judged == 0


@pytest.mark.parametrize(
    ("piece", "why"),
    [
        ([(0, 1), (0, 2), (1, 3)], "joins row 2 of stream 0 and row 3 of stream 1"),
        ([(0, 4), (0, 5), (0, 6)], "from one trajectory to another"),
        ([(0, 1), (0, 2), (0, 4)], "is not consecutive"),
        ([(0, 3), (0, 2), (0, 1)], "is not consecutive"),
    ],
)
def test_a_piece_of_no_one_trajectory_is_found(ring, piece, why):
    ring.sample(*piece)
    (finding,) = CHECKER.check(ring.history()).findings
    assert why in finding.text


def test_it_applies_where_pieces_are_asked_for(ring):
    ring.sample((0, 1), (0, 2), (0, 3))
    assert CHECKER.applies(ring.history())
    ring.setup["sampler"] = "uniform"
    assert not CHECKER.applies(ring.history())
