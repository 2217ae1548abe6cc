"""The real pool, driven as its ledger is and held against the same model."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from reference_impl.core.errors import WorkerError
from reference_impl.pool.messages import Operation
from reference_impl.pool.state import PoolState
from tests.unit.reference_impl.pool.gated_pool import ASYNC, AT_ONCE, BADLY, WELL, GatedPool
from tests.unit.reference_impl.pool.ledger_machine import ENVS, LedgerMachine
from tests.unit.reference_impl.pool.ledger_model import (
    OPEN,
    OWED,
    Answer,
    Ask,
    GiveUp,
    ReceiveGroup,
)

env_sets = st.sets(st.integers(0, ENVS - 1))


class PoolMachine(LedgerMachine):
    """Sends, receives, failures, losses, calls that are given up on, and the end."""

    KINDS: tuple[Operation, ...] = tuple(ASYNC)
    HOPES = False
    OPTIONS: dict[str, str]

    def subject(self):
        self.pool = GatedPool(ENVS, **self.OPTIONS)
        return self.pool

    def teardown(self):
        if hasattr(self, "pool"):
            self.pool.end()

    def answerable(self):
        # An env does one thing after the other.
        by_env = (self.model.those(OPEN, OWED, env=env) for env in range(ENVS))
        idle = self.model.lost if not self.model.closed else range(ENVS)
        return [ns[0] for env, ns in enumerate(by_env) if ns and env not in idle]

    @precondition(lambda self: not (self.model.closed or self.model.lost or self.model.live()))
    @rule(
        operation=st.sampled_from(sorted(AT_ONCE, key=str)),
        well=env_sets,
        badly=st.none() | st.integers(0, ENVS - 1),
    )
    def call_that_waits(self, operation, well, badly):
        """All envs answer, or one fails and the others may not have answered when it does."""
        answering = well - {badly} if badly is not None else range(ENVS)
        owed = {env: self.model.those(OWED, env=env) for env in range(ENVS)}
        if any(len(ns) >= self.OWED_MAX for ns in owed.values()):
            return
        self.pair.model.do(Ask(operation, tuple(range(ENVS))))
        asked = self.model.live()
        for env in range(ENVS):
            if env in answering or env == badly:
                for n in owed[env]:
                    self.model.do(Answer(n))
                self.pool.let(env, WELL * len(owed[env]) + (BADLY if env == badly else WELL))
        for env in answering:
            self.model.do(Answer(asked[env]))
        if badly is not None:
            self.model.do(Answer(asked[badly], well=False))
        expected = self.model.do(ReceiveGroup(tuple(asked)))
        self.model.do(GiveUp(tuple(self.model.live())))
        assert self.pool.at_once(operation) == expected
        for env in answering:
            self.pool.settle(env)

    @invariant()
    def what_it_shows_is_as_promised(self):
        model = self.model
        assert self.pool.observed() == (model.busy(), model.lost, model.dropped)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "lives"),
    [
        ({"backend": "threading"}, 200),
        ({"exchange": "queue"}, 20),
        ({"exchange": "shm"}, 20),
    ],
    ids=["threads", "processes", "slots"],
)
def test_a_pool_keeps_the_promises_of_its_ledger(options, lives):
    live(options, lives)


@pytest.mark.slow
def test_a_pool_whose_failing_env_costs_its_neighbours_their_results_is_found(monkeypatch):
    ready_batch = PoolState.ready_batch

    def wrong(state, operation, *args, **kwargs):
        try:
            return ready_batch(state, operation, *args, **kwargs)
        except WorkerError:
            state.abandon(state._batch(operation).intersection(state._arrived))
            raise

    monkeypatch.setattr(PoolState, "ready_batch", wrong)
    with pytest.raises(AssertionError):
        live({"backend": "threading"}, 200)


def live(options, lives):
    class Machine(PoolMachine):
        OPTIONS = options

    config = settings(
        max_examples=lives,
        stateful_step_count=40,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(
            Phase.generate,
        ),  # a life of a pool is not worth the minute that shrinking it takes
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(Machine, settings=config)
