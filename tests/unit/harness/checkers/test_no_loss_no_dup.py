"""What was written can be read, once, until the ring comes round."""

from __future__ import annotations

import pytest

from harness.checkers.no_loss_no_dup import CHECKER
from tests.unit.harness.checkers.storage_histories import HonestRing


def texts(ring: HonestRing) -> list[str]:
    return [finding.text for finding in CHECKER.check(ring.history()).findings]


@pytest.fixture
def ring() -> HonestRing:
    made = HonestRing()
    made.extend(4)
    made.extend(1, writer=1)
    return made


@pytest.mark.parametrize("more", range(9))
def test_what_the_ring_holds_passes_wherever_it_ends(ring, more):
    for _ in range(more):
        ring.extend(1)
    ring.read()
    judgement = CHECKER.check(ring.history())
    assert (judgement.findings, judgement.judged) == ((), min(6, 5 + more))


def test_a_history_in_which_nothing_was_read_is_no_evidence(ring):
    assert CHECKER.check(ring.history()).judged == 0


@pytest.mark.parametrize("slot", range(5))
def test_a_lost_row_is_found(ring, slot):
    ring.read([row for row in ring.told() if row["slot"] != [slot, 0]])
    assert any("which was stored" in text for text in texts(ring))


def test_a_row_that_is_there_twice_is_found(ring):
    told = ring.told()
    ring.read([*told, {**told[0], "slot": [5, 0]}])
    assert any("2 times" in text for text in texts(ring))


def test_a_row_that_was_overwritten_is_found(ring):
    told = ring.told()
    ring.extend(4)
    ring.read([{**told[0], "slot": [0, 0]}, *ring.told()[1:]])
    assert any("which had been overwritten" in text for text in texts(ring))


def test_a_sample_of_a_row_that_was_overwritten_is_found(ring):
    ring.extend(4)
    ring.sample((0, 1))
    assert any("which had been overwritten" in text for text in texts(ring))


@pytest.mark.parametrize("size", [1, 3])
def test_a_sample_of_more_or_fewer_elements_than_were_asked_for_is_found(ring, size):
    ring.sample((0, 1), (0, 2), size=size)
    assert any(f"has 2 elements, and was asked for {size}" in text for text in texts(ring))


def test_samples_of_a_race_have_as_many_elements_as_were_asked_for(ring):
    ring.race((0, 1), (0, 2), (0, 1), (0, 3), size=2, samples=2)
    assert texts(ring) == []
    ring.race((0, 1), (0, 2), (0, 1), size=2, samples=2)
    assert any("has 3 elements, and was asked for 4" in text for text in texts(ring))


def test_a_sample_of_a_writer_that_was_gone_may_have_no_elements(ring):
    ring.recorder.ok(ring.recorder.invoke("sample", size=6), rows=[], gone=True)
    assert texts(ring) == []


@pytest.mark.parametrize(("rows", "red"), [((), True), (((0, 1),), False)])
def test_only_the_last_sample_of_an_epoch_may_be_a_short_one(rows, red):
    ring = HonestRing(setup={"sampler": "epochs"})
    ring.extend(1)
    ring.sample(*rows, size=4)
    assert bool(texts(ring)) is red


@pytest.mark.parametrize("there", [True, False])
def test_rows_whose_writer_was_gone_may_be_there_or_not(ring, there):
    before = list(ring.rows)
    ring.extend(1, ended="gone")
    ring.rows = [*before, (0, 5)] if there else before
    ring.read()
    assert texts(ring) == []


def test_a_row_may_be_missing_where_a_writer_that_is_gone_had_claimed(ring):
    ring.extend(3, ended="gone")
    kept = [row for row in ring.told() if row["slot"][0] >= 2]
    ring.read(kept)
    assert texts(ring) == []


def test_emptied_rows_are_gone(ring):
    told = ring.told()
    ring.recorder.call("empty")
    ring.read([])
    assert texts(ring) == []
    ring.read(told[:1])
    assert any("which had been dropped" in text for text in texts(ring))


def test_what_is_loaded_is_what_was_dumped(ring):
    told = ring.told()
    ring.recorder.call("dump")
    ring.extend(1)
    ring.recorder.call("load")
    ring.read(told)
    assert texts(ring) == []
    ring.read()
    assert any("which had been dropped" in text for text in texts(ring))


def test_a_length_below_what_can_be_read_is_found(ring):
    ring.read(length=4)
    assert any("says that it holds 4" in text for text in texts(ring))


def test_writers_at_the_same_time_may_come_in_any_order(ring):
    one, first = ring.invoke(3)
    other, second = ring.invoke(3, writer=1)
    ring.recorder.ok(one, ended=["stored"])
    ring.recorder.ok(other, ended=["stored"])
    ring.rows += [*second, *first]
    ring.read()
    assert texts(ring) == []


def test_rows_that_come_again_before_all_have_come_are_found():
    ring = HonestRing(setup={"sampler": "epochs"})
    ring.extend(4)
    ring.read()
    ring.sample((0, 1), (0, 2))
    ring.sample((0, 3), (0, 4))
    ring.sample((0, 2), (0, 1))
    assert texts(ring) == []
    ring.sample((0, 2), (0, 3))
    assert any(
        "had row 2 of stream 0 again, when 2 of 4 had not come yet" in t for t in texts(ring)
    )
