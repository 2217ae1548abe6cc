"""The ledger against every short history, against random long ones, and by example."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reference_impl.weights.ledger import (
    DONE,
    DROPPED_MAX,
    WAITING,
    Died,
    DropReason,
    Failed,
    Ledger,
)
from reference_impl.weights.messages import Failure

BAD = Failure(cause="ValueError: no", traceback="")
NUM_WORKERS = 2


class Model:
    """The rules written a second time: a plain table of (request, worker) and what was seen first."""

    def __init__(self) -> None:
        self.targets: list[tuple[int, ...]] = []
        self.seen: dict[tuple[int, int], object] = {}
        self.lost: dict[int, object] = {}
        self.concluded: set[int] = set()
        self.holds: dict[int, int] = {}
        self.current: dict[int, int] = {}
        self.left_with: set[tuple[int, int]] = set()

    def begin(self, targets) -> Any:
        self.targets.append(targets)
        for worker in targets:
            if worker in self.lost:
                self.seen[len(self.targets), worker] = self.lost[worker]
        return len(self.targets)

    def waiting(self, request_id) -> Any:
        return tuple(w for w in self.targets[request_id - 1] if (request_id, w) not in self.seen)

    def settled(self, request_id) -> Any:
        return request_id in self.concluded and not self.waiting(request_id)

    def on_answer(self, worker, request_id, failure) -> Any:
        if not 0 < request_id <= len(self.targets):
            return DropReason.UNKNOWN
        if self.settled(request_id):
            return DropReason.DUPLICATE
        if worker not in self.targets[request_id - 1]:
            return DropReason.UNKNOWN
        if (request_id, worker) in self.seen:
            return DropReason.DUPLICATE
        self.seen[request_id, worker] = DONE if failure is None else Failed(failure=failure)
        if failure is None:
            self.holds[worker] = max(request_id, self.holds.get(worker, 0))
        return DropReason.LATE if request_id in self.concluded else None

    def conclude(self, request_id) -> Any:
        self.concluded.add(request_id)
        fates = list(self.fates(request_id).values())
        if DONE in fates or not any(isinstance(fate, Failed) for fate in fates):
            for worker in self.targets[request_id - 1]:
                self.current[worker] = max(request_id, self.current.get(worker, 0))

    def replaced(self, worker) -> Any:
        self.on_lost(worker, Died(exitcode=None), gone=True)
        del self.lost[worker]

    def needed(self, request_id) -> Any:
        in_force = (*self.holds.values(), *self.current.values(), *(r for r, _ in self.left_with))
        return request_id in in_force or not self.settled(request_id)

    def on_lost(self, worker, fate, *, gone) -> Any:
        self.lost.setdefault(worker, fate)
        mine = {r for r in range(1, len(self.targets) + 1) if worker in self.waiting(r)}
        mine |= {self.holds.pop(worker)} if worker in self.holds else set()
        if gone:
            self.left_with = {(r, w) for r, w in self.left_with if w != worker}
        else:
            self.left_with |= {(r, worker) for r in mine}
        for request_id, targets in enumerate(self.targets, 1):
            if worker in targets:
                self.seen.setdefault((request_id, worker), self.lost[worker])

    def fates(self, request_id) -> Any:
        targets = self.targets[request_id - 1]
        return {worker: self.seen.get((request_id, worker), WAITING) for worker in targets}

    def unanswered(self, worker) -> Any:
        return sum(worker in self.waiting(r) for r in range(1, len(self.targets) + 1))


class Pair:
    """The ledger and the model, given the same events; every answer must be the same."""

    def __init__(self) -> None:
        self.ledger, self.model = Ledger(NUM_WORKERS), Model()

    def apply(self, event) -> None:
        getattr(self, event[0])(*event[1:])
        self.compare()

    def begin(self, targets) -> Any:
        assert self.ledger.begin(targets, 5) == self.model.begin(targets)

    def answer(self, worker, request_id, failure) -> Any:
        dropped = self.ledger.on_answer(worker, request_id, failure)
        reason = None if dropped is None else dropped.reason
        assert reason == self.model.on_answer(worker, request_id, failure)

    def lose(self, worker, fate, *, gone=True) -> Any:
        self.ledger.on_lost(worker, fate, gone=gone)
        self.model.on_lost(worker, fate, gone=gone)

    def cut_off(self, worker, fate) -> Any:
        self.lose(worker, fate, gone=False)

    def conclude(self, request_id) -> Any:
        open_ones = set(range(1, len(self.model.targets) + 1)) - self.model.concluded
        if request_id in open_ones:
            conclusion = self.ledger.conclude(request_id)
            assert conclusion.fates == self.model.fates(request_id)
            self.model.conclude(request_id)

    def replace(self, worker) -> Any:
        self.ledger.on_replaced(worker)
        self.model.replaced(worker)

    def compare(self) -> None:
        for request_id in range(1, len(self.model.targets) + 1):
            settled = self.model.settled(request_id)
            assert self.ledger.settled(request_id) == settled
            assert self.ledger.needed(request_id) == self.model.needed(request_id)
            if not settled:
                waiting = self.model.waiting(request_id)
                assert self.ledger.waiting(request_id) == waiting
                assert self.ledger.complete(request_id) == (not waiting)
        for worker in range(NUM_WORKERS):
            assert self.ledger.unanswered(worker) == self.model.unanswered(worker)
            assert self.ledger.current(worker) == self.model.current.get(worker)


EVENTS = (
    ("begin", (0, 1)),
    ("begin", (1,)),
    ("answer", 0, 1, None),
    ("answer", 1, 1, BAD),
    ("answer", 1, 2, None),
    ("lose", 0, Died(exitcode=-9)),
    ("cut_off", 1, Failed(failure=BAD)),
    ("replace", 0),
    ("conclude", 1),
    ("conclude", 2),
)


@pytest.mark.parametrize("first", EVENTS, ids=str)
def test_every_history_of_five_events_is_booked_as_the_rules_say(first):
    for rest in itertools.product(EVENTS, repeat=4):
        pair = Pair()
        for event in (first, *rest):
            pair.apply(event)


class LongHistories(RuleBasedStateMachine):
    """Random histories that go further than the exhaustive ones."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()

    @rule(workers=st.sampled_from([(0,), (1,), (0, 1), (1, 0)]))
    def begin(self, workers) -> Any:
        self.pair.begin(workers)

    @rule(
        worker=st.integers(0, NUM_WORKERS - 1),
        request_id=st.integers(-1, 12),
        failure=st.sampled_from([None, BAD]),
    )
    def answer(self, worker, request_id, failure) -> Any:
        self.pair.answer(worker, request_id, failure)

    @rule(
        worker=st.integers(0, NUM_WORKERS - 1),
        exitcode=st.sampled_from([None, -9, 3]),
        gone=st.booleans(),
    )
    def lose(self, worker, exitcode, gone) -> Any:
        self.pair.lose(worker, Died(exitcode=exitcode), gone=gone)

    @rule(worker=st.integers(0, NUM_WORKERS - 1))
    def replace(self, worker) -> Any:
        self.pair.replace(worker)

    @precondition(lambda self: self.pair.model.targets)
    @rule(data=st.data())
    def conclude(self, data) -> Any:
        self.pair.conclude(data.draw(st.integers(1, len(self.pair.model.targets))))

    @invariant()
    def the_books_agree(self) -> Any:
        self.pair.compare()


TestLongHistories = LongHistories.TestCase


def test_a_late_answer_does_not_answer_the_next_request():
    ledger = Ledger(1)
    first = ledger.begin((0,), 0)
    ledger.conclude(first)
    second = ledger.begin((0,), 1)
    dropped = ledger.on_answer(0, first, None)
    assert dropped is not None
    assert dropped.reason is DropReason.LATE
    assert not ledger.complete(second)


def test_a_dead_worker_completes_what_it_was_asked():
    ledger = Ledger(2)
    request = ledger.begin((0, 1), 0)
    ledger.on_answer(1, request, None)
    ledger.on_lost(0, Died(exitcode=-9), gone=True)
    assert ledger.conclude(request).fates == {0: Died(exitcode=-9), 1: DONE}


def test_the_first_death_is_the_one_that_is_reported():
    ledger = Ledger(1)
    ledger.on_lost(0, Died(exitcode=-9), gone=True)
    ledger.on_lost(0, Died(exitcode=None), gone=True)
    assert ledger.conclude(ledger.begin((0,), 0)).fates == {0: Died(exitcode=-9)}


def test_what_a_worker_acts_on_that_may_still_run_is_needed_until_it_is_replaced():
    ledger = Ledger(2)
    held, sent = ledger.begin((0,), 0), ledger.begin((0,), 1)
    ledger.on_answer(0, held, None)
    ledger.on_lost(0, Failed(failure=BAD), gone=False)
    later = ledger.begin((0, 1), 2)
    ledger.on_answer(1, later, None)
    for request in (held, sent, later):
        ledger.conclude(request)
    assert (ledger.needed(held), ledger.needed(sent)) == (True, True)
    ledger.on_replaced(0)
    assert (ledger.needed(held), ledger.needed(sent)) == (False, False)


def test_a_request_that_was_not_sent_is_not_waited_for():
    ledger = Ledger(1)
    request = ledger.begin((0,), 0)
    ledger.on_unsent(0, request, BAD)
    assert ledger.complete(request)
    assert ledger.unanswered(0) == 0


def test_a_conclusion_says_which_version_was_sent():
    ledger = Ledger(1)
    assert ledger.conclude(ledger.begin((0,), 41)).version == 41


@pytest.mark.parametrize(
    ("named", "targets"),
    [(None, (0, 1, 2)), (1, (1,)), ([2, 0], (2, 0)), (range(2), (0, 1))],
)
def test_targets_are_those_that_are_named(named, targets):
    assert Ledger(3).targets(named) == targets


@pytest.mark.parametrize("named", [3, -1, [], [0, 0], [0, 3], [True], ["0"], [0.0]])
def test_targets_that_make_no_sense_are_refused(named):
    with pytest.raises(ValueError, match="worker_ids"):
        Ledger(3).targets(named)


def test_the_record_of_dropped_answers_is_bounded():
    ledger = Ledger(1)
    for _ in range(DROPPED_MAX + 10):
        ledger.on_answer(0, 99, None)
    assert len(ledger.dropped) == DROPPED_MAX


def test_an_older_version_that_is_brought_later_is_not_what_is_in_force():
    ledger = Ledger(1)
    newer, brought = ledger.begin((0,), 2), ledger.begin((0,), 1)
    for request in (newer, brought):
        ledger.on_answer(0, request, None)
        ledger.conclude(request)
    assert ledger.current(0) == newer
    assert ledger.needed(newer)
    assert not ledger.needed(brought)
