"""A prioritized sampler hears once of each row that others wrote."""

from __future__ import annotations

import torch

from reference_impl.storage.entered import Entered
from reference_impl.storage.ring import Owner, Ring

A = Owner(pid=1, born=1)


def heard(entered: Entered, ring: Ring) -> list[int] | None:
    slots = entered.others(ring)
    return None if slots is None else slots.tolist()


def test_rows_of_others_are_told_once():
    entered = Entered()
    ring, claim = Ring(capacity=4).claim(A, 3)
    ring = ring.commit(claim.start)
    assert [heard(entered, ring), heard(entered, ring)] == [[0, 1, 2], None]


def test_rows_of_its_own_are_not_told():
    entered = Entered()
    ring, claim = Ring(capacity=9).claim(A, 3)
    entered.own(torch.tensor([0, 2]))
    assert heard(entered, ring.commit(claim.start)) == [1]


def test_rows_in_flight_are_told_once_they_are_there_and_lost_ones_never():
    entered = Entered()
    ring, first = Ring(capacity=9).claim(A, 2)
    ring, second = ring.claim(A, 1)
    ring, third = ring.claim(A, 1)
    assert heard(entered, ring.commit(second.start)) == [2]
    ring = ring.commit(second.start).lose(third.start).commit(first.start)
    assert [heard(entered, ring), heard(entered, ring)] == [[0, 1], None]


def test_when_the_ring_went_round_all_of_it_is_told():
    entered = Entered()
    entered.own(torch.tensor([0]))
    ring = Ring(capacity=3)
    for _ in range(4):
        ring, claim = ring.claim(A, 2)
        ring = ring.commit(claim.start)
    assert sorted(heard(entered, ring) or []) == [0, 1, 2]
