"""Which transfer a rule strikes: the k-th of its ends, way and processes, and that one alone."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from harness.engine.transfer_rules import fill, rule_of
from harness.engine.transfers import Transfers
from harness.faults.transfer import DelayTransfer, DropTransfer
from harness.model.gate import TransferRule
from harness.payloads.ends import Pairs

RULE = TransferRule(
    fault="f1",
    op="drop_transfer",
    side="worker",
    transfer="put",
    k=2,
    ends={"a": 0, "b": 1},
    pids={"10": 0, "11": 1},
)
THREADS = replace(RULE, pids={"9": None})
OWNER = replace(THREADS, side="owner")


def struck(rule: TransferRule, *asked: tuple[int, str], transfer: str = "put") -> list[int | None]:
    """The worker of each transfer that is struck."""
    transfers = Transfers()
    transfers.arm(rule)
    answers = [transfers.due({"transfer": transfer, "end": e, "pid": p}) for p, e in asked]
    return [answer["worker"] for answer in answers if answer["op"] != "go"]


def test_each_worker_is_counted_by_itself_and_the_first_to_come_there_is_struck():
    assert struck(RULE, (10, "a"), (11, "b"), (11, "b"), (10, "a")) == [1]


def test_workers_without_a_process_are_told_by_their_ends():
    assert struck(THREADS, (9, "a"), (9, "b"), (9, "a")) == [0]


def test_the_owners_transfers_are_counted_in_all():
    assert struck(OWNER, (9, "a"), (9, "b")) == [1]


def test_who_may_go_on_is_told_whether_the_transfer_counts():
    transfers = Transfers()
    transfers.arm(RULE)
    go = [transfers.due({"transfer": "put", "end": e, "pid": 10}) for e in ("a", "c")]
    assert go == [{"op": "go", "counted": True}, {"op": "go", "counted": False}]


def test_who_strikes_and_who_is_at_the_other_side_is_told():
    transfers = Transfers()
    transfers.arm(replace(RULE, k=1))
    answer = transfers.due({"transfer": "put", "end": "b", "pid": 11})
    assert (answer["role"], answer["other"]) == ("worker:1", "driver")
    transfers.arm(replace(OWNER, k=1))
    answer = transfers.due({"transfer": "put", "end": "b", "pid": 9})
    assert (answer["role"], answer["other"]) == ("driver", "worker:1")


def test_other_ends_processes_and_ways_do_not_count():
    assert struck(RULE, (10, "c"), (12, "a"), (10, "a")) == []
    assert struck(RULE, (10, "a"), (10, "a"), transfer="get") == []


class Subject:
    """Two workers with a duplex pipe each, or two threads."""

    def __init__(self, ends: list[Any], pids: list[int]) -> None:
        self._ends, self._pids = ends, pids

    def transfer_ends(self, *_: str) -> list[Any]:
        return self._ends

    def worker_pids(self) -> list[int]:
        return self._pids


def test_a_worker_with_a_process_is_told_by_it():
    fault = DropTransfer(channel="results", role="worker:1")
    rule = rule_of(fault, Subject([object(), object()], [10, 11]), Pairs(), 2)
    assert rule.pids == {"11": 1}
    assert rule.transfer == "put"


def test_a_worker_without_a_process_is_told_by_its_end():
    fault = DropTransfer(channel="results", role="worker:1")
    rule = rule_of(fault, Subject([object(), object()], []), Pairs(), 2)
    assert list(rule.ends.values()) == [1]
    assert list(rule.pids.values()) == [None]


def test_of_a_worker_of_several_envs_all_transfers_are_meant():
    fault = DropTransfer(channel="results", role="worker:2")
    rule = rule_of(fault, Subject([object(), object()], [10, 10, 11, 11]), Pairs(), 4, 2)
    assert rule.pids == {"11": 2}
    assert list(rule.ends.values()) == [0, 2]


def test_a_thread_of_several_envs_is_told_by_its_end():
    fault = DropTransfer(channel="results", role="worker:1")
    rule = rule_of(fault, Subject(ends := [object(), object()], []), Pairs(), 3, 2)
    assert rule.ends == {f"object:{id(ends[0])}": 1}


def test_a_channel_that_workers_share_tells_nobody():
    fault = DelayTransfer(channel="results", role="driver")
    rule = rule_of(fault, Subject([object()], [10, 11]), Pairs(), 2)
    assert list(rule.ends.values()) == [None]
    assert rule.transfer == "get"


def test_a_full_channel_takes_not_one_byte_more_and_is_blocking_as_before():
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "wb"):
        os.write(writer, bytes(100))
        assert fill(writer) > 0
        assert os.get_blocking(writer)
        os.set_blocking(writer, False)
        with pytest.raises(BlockingIOError):
            os.write(writer, b"x")
