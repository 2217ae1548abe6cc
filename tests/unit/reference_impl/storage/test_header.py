"""A header switches from one ring to the next at once."""

from __future__ import annotations

from array import array

import pytest
import torch

from reference_impl.storage.header import FORM_BYTES_MAX, SIZE, Header
from reference_impl.storage.ring import CLAIMS_MAX, Owner, Ring


@pytest.fixture
def memory():
    return torch.zeros(SIZE, dtype=torch.uint8)


def settled(memory) -> Header:
    header = Header(memory)
    header.begin()
    header.settle({"rows": 5}, Ring(capacity=5))
    return header


def test_it_has_no_form_before_it_is_settled(memory):
    header = Header(memory)
    assert not header.is_one
    header.begin()
    assert (Header(memory).is_one, Header(memory).form()) == (True, None)


def test_what_one_publishes_another_reads(memory):
    ring, claim = Ring(capacity=5).claim(Owner(pid=7, born=1 << 59), 3)
    ring = (
        ring.commit(claim.start).claim(Owner(pid=8, born=2), 1)[0].without({Owner(pid=8, born=2)})
    )
    ring = ring.claim(Owner(pid=9, born=3), 1)[0]
    settled(memory).publish(ring)
    other = Header(memory)
    assert (other.form(), other.ring()) == ({"rows": 5}, ring)


def test_a_change_that_did_not_come_to_its_end_did_not_happen(memory):
    header = settled(memory)
    first, _ = Ring(capacity=5).claim(Owner(pid=1, born=1), 1)
    second, _ = first.claim(Owner(pid=2, born=2), 2)
    header.publish(first)
    version = header._words[1]
    header.publish(second)
    header._words[1] = version  # the last store of a change is that of the version
    assert Header(memory).ring() == first


def test_a_reader_that_is_overtaken_reads_again(memory):
    header = settled(memory)
    rings = [Ring(capacity=5)]
    for _ in range(3):
        rings.append(rings[-1].claim(Owner(pid=1, born=1), 1)[0])

    class Overtaken:
        """Words of which some are read, and then two changes come."""

        def __init__(self, words):
            self.words, self.left = words, rings[1:]

        def __getitem__(self, at):
            found = self.words[at]
            if isinstance(at, slice) and self.left:
                found = array("q", found.tolist())
                header.publish(self.left.pop(0))
                header.publish(rings[3])
            return found

    other = Header(memory)
    other._words = Overtaken(other._words)  # type: ignore[assignment]  # as much of a memoryview as is read
    assert other.ring() == rings[3]


def test_it_has_room_for_all_claims_that_a_ring_may_have(memory):
    ring, owner = Ring(capacity=2 * CLAIMS_MAX), Owner(pid=1 << 30, born=1 << 59)
    for _ in range(CLAIMS_MAX):
        ring, _ = ring.claim(owner, 2)
    header = settled(memory)
    header._words[2] = ring.capacity
    for _ in range(2):
        header.publish(ring)
    assert Header(memory).ring() == ring
    assert header.form() == {"rows": 5}


def test_a_form_that_is_too_long_is_refused(memory):
    header = Header(memory)
    with pytest.raises(ValueError, match="bytes"):
        header.settle("x" * FORM_BYTES_MAX, Ring(capacity=5))
    assert header.form() is None
