"""The ledger against a plain model: every small case to the end, and long ones at random."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from reference_impl.pool import state as state_module
from reference_impl.pool.messages import Operation
from reference_impl.pool.state import OWED_MAX
from tests.unit.reference_impl.pool.ledger_machine import ENVS, LedgerMachine
from tests.unit.reference_impl.pool.ledger_model import (
    OPEN,
    OWED,
    Answer,
    Ask,
    Event,
    GiveUp,
    Model,
    ReceiveGroup,
    Retract,
    TakeOver,
)
from tests.unit.reference_impl.pool.ledgers import Ledger, Pair, events

STEP, RESET, LOOK = Operation.STEP, Operation.RESET, Operation.GET_ATTR
OWED_FEW = 2  # instead of `OWED_MAX`, so that small cases come to that bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    """A small case: what is asked of how many envs, and how many requests may wait or be owed."""

    num_envs: int
    asks: tuple[Ask, ...]
    live_max: int


ONE = Small(
    num_envs=1, asks=(Ask(STEP, (0,)), Ask(RESET, (0,), alone=True), Ask(LOOK, (0,))), live_max=3
)
BATCHES = Small(num_envs=2, asks=(Ask(STEP, (0,)), Ask(STEP, (1,)), Ask(STEP, (1, 0))), live_max=4)
KINDS = Small(
    num_envs=2,
    asks=(Ask(STEP, (0,)), Ask(STEP, (1,), alone=True), Ask(LOOK, (0, 1)), Ask(RESET, (0, 1))),
    live_max=2,
)


@pytest.fixture
def few_owed(monkeypatch):
    monkeypatch.setattr(state_module, "OWED_MAX", OWED_FEW)


def replayed(num_envs, path):
    pair = Pair(Ledger(num_envs), Model(num_envs, OWED_FEW))
    for event in path:
        pair.do(event)
    return pair


@pytest.mark.slow
@pytest.mark.usefixtures("few_owed")
@pytest.mark.parametrize(
    ("small", "states", "moves"), [(ONE, 3786, 96896), (BATCHES, 1088, 29608), (KINDS, 1688, 64696)]
)
def test_every_state_that_few_requests_allow_is_left_as_promised_by_every_event(
    small, states, moves
):
    nothing: tuple[Event, ...] = ()
    paths = {replayed(small.num_envs, ()).model.key(): nothing}
    todo, done = list(paths.values()), 0
    while todo:
        path = todo.pop(0)
        for event in events(replayed(small.num_envs, path).model, small.asks, small.live_max):
            pair = replayed(small.num_envs, path)
            pair.do(event)
            pair.compare()
            done += 1
            key = pair.model.key()
            if key not in paths:
                paths[key] = (*path, event)
                todo.append(paths[key])
    assert (len(paths), done) == (states, moves)


@pytest.mark.slow
@pytest.mark.usefixtures("few_owed")
@pytest.mark.parametrize(("small", "depth", "sequences"), [(ONE, 4, 34956), (BATCHES, 4, 94106)])
def test_every_short_sequence_of_events_goes_as_promised(small, depth, sequences):
    # States are not merged: what a ledger hides from its questions shows here.
    def count(path):
        pair = replayed(small.num_envs, path)
        pair.compare()
        if len(path) == depth:
            return 1
        following = list(events(pair.model, small.asks, small.live_max))
        return sum(count((*path, event)) for event in following)

    assert count(()) == sequences


class CoreMachine(LedgerMachine):
    """Long lives of the ledger itself, with what only its pool may ask of it."""

    KINDS: tuple[Operation, ...] = (STEP, RESET, LOOK)
    OWED_MAX = OWED_MAX

    def subject(self):
        return Ledger(ENVS)

    @precondition(lambda self: self.model.asked)
    @rule(data=st.data(), by=st.none() | st.integers(0, ENVS - 1))
    def answer_again_or_for_another(self, data, by):
        n = data.draw(st.integers(0, len(self.model.asked) - 1))
        if self.model.asked[n].fate not in (OPEN, OWED):
            by = None
        elif by is None:
            by = (self.model.asked[n].env + 1) % ENVS
        self.pair.do(Answer(n, by=by))

    @precondition(lambda self: self.model.live())
    @rule(data=st.data())
    def give_up(self, data):
        self.pair.do(GiveUp(self.some_live(data)))

    @precondition(lambda self: self.model.those(OPEN))
    @rule(data=st.data())
    def retract(self, data):
        self.pair.do(Retract((data.draw(st.sampled_from(self.model.those(OPEN))),)))

    @rule(env=st.integers(0, ENVS - 1))
    def take_over(self, env):
        self.pair.do(TakeOver(env))

    @precondition(lambda self: self.model.live())
    @rule(data=st.data())
    def receive_group(self, data):
        self.pair.do(ReceiveGroup(self.some_live(data)))

    def some_live(self, data):
        live = st.sampled_from(self.model.live())
        return tuple(data.draw(st.lists(live, min_size=1, unique=True)))


CoreMachine.TestCase.settings = settings(
    max_examples=200, stateful_step_count=40, deadline=None, derandomize=True, database=None
)
TestLedger = CoreMachine.TestCase
