"""Several writers leave what one would have left."""

from __future__ import annotations

from harness.checkers.layout import CHECKER
from tests.unit.harness.checkers.storage_histories import HonestRing


def texts(ring: HonestRing) -> list[str]:
    return [finding.text for finding in CHECKER.check(ring.history()).findings]


def test_rows_in_their_slots_pass():
    ring = HonestRing()
    for writer in (0, 1, 0):
        ring.extend(3, writer)
        ring.read()
    judgement = CHECKER.check(ring.history())
    assert (judgement.findings, judgement.judged) == ((), 3 + 6 + 6)


def test_a_history_in_which_nothing_was_read_is_no_evidence():
    ring = HonestRing()
    ring.extend(3)
    assert CHECKER.check(ring.history()).judged == 0


def test_rows_in_each_others_slots_are_found():
    ring = HonestRing()
    ring.extend(3)
    told = ring.told()
    told[0]["slot"], told[1]["slot"] = told[1]["slot"], told[0]["slot"]
    ring.read(told)
    assert "found row 1 of stream 0 in slot 1, where row 2 of writer 0 belongs" in texts(ring)[0]


def test_rows_of_as_many_envs_as_were_written_are_looked_for():
    ring = HonestRing(setup={"dims": 2, "width": 2, "capacity": 12})
    ring.extend(1)
    ring.read([{"stream": 0, "number": 1, "slot": [0, 0]}], shape=[1, 1])
    assert "found rows of 1 envs, and batches are of 2" in texts(ring)[0]


def test_an_env_at_the_place_of_another_is_found():
    ring = HonestRing(setup={"dims": 2, "width": 2, "capacity": 12})
    ring.extend(1)
    rows = [{"stream": env, "number": 1, "slot": [0, 1 - env]} for env in range(2)]
    ring.read(rows, shape=[1, 2])
    assert "found row 1 of stream 0 at place 1 of a row" in texts(ring)[0]


def test_rows_of_one_batch_lie_one_behind_the_other_where_the_order_of_batches_is_not_known():
    ring = HonestRing()
    ring.extend(1, ended="gone")
    ring.extend(2)
    ring.read()
    assert texts(ring) == []
    first, second = ring.told()
    ring.read([first, {**second, "slot": [4, 0]}])
    assert "the next one of its batch in slot 4" in texts(ring)[0]


def test_rows_that_are_still_to_be_written_have_no_slot_yet():
    ring = HonestRing()
    ring.extend(6)
    ring.invoke(1)
    ring.read()
    assert texts(ring) == []
