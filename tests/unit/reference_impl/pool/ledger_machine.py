"""Random calls, answers, losses and the end, on whatever keeps the promises of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reference_impl.pool.state import OWED_MAX
from tests.unit.reference_impl.pool.ledger_model import (
    OPEN,
    OWED,
    Answer,
    Ask,
    Close,
    Lose,
    Model,
    Receive,
    ReceiveAlone,
)
from tests.unit.reference_impl.pool.ledgers import Pair

if TYPE_CHECKING:
    from reference_impl.pool.messages import Operation
    from tests.unit.reference_impl.pool.ledger_model import Event

ENVS = 3
env_indices = st.integers(0, ENVS - 1)


class LedgerMachine(RuleBasedStateMachine):
    """What can befall anything that has the events of a ledger; subclasses say what that is."""

    KINDS: tuple[Operation, ...]
    OWED_MAX = OWED_MAX
    HOPES = True  # whether a receive waits on for more than it needs

    def subject(self) -> Any:
        """What is held against the model."""
        raise NotImplementedError

    def answerable(self) -> list[int]:
        """The requests that may be answered next."""
        return self.model.those(OPEN, OWED)

    @initialize()
    def begin(self):
        self.model = Model(ENVS, self.OWED_MAX)
        self.pair = Pair(self.subject(), self.model)

    def a_kind(self, data):
        return data.draw(st.sampled_from(self.KINDS))

    def idle(self):
        """The envs that may be asked anything."""
        free = set(range(ENVS)) - self.model.busy() - self.model.lost
        return [] if self.model.closed else sorted(free)

    @precondition(lambda self: self.idle())
    @rule(data=st.data(), alone=st.booleans())
    def ask(self, data, alone):
        idle = st.sampled_from(self.idle())
        envs = data.draw(st.permutations(self.idle()) | st.lists(idle, min_size=1, unique=True))
        self.pair.do(Ask(self.a_kind(data), tuple(envs), alone and len(envs) == 1))

    @precondition(lambda self: self.answerable())
    @rule(
        data=st.data(),
        fates=st.lists(st.sampled_from((True, True, False)), min_size=1, max_size=ENVS),
    )
    def answer(self, data, fates):
        for well in fates[: len(self.answerable())]:
            self.pair.do(Answer(data.draw(st.sampled_from(self.answerable())), well))

    @precondition(lambda self: any(map(self.model.outstanding, self.KINDS)))
    @rule(data=st.data(), hoped=st.integers(1, ENVS), limit=st.integers(1, ENVS))
    def receive(self, data, hoped, limit):
        kind = data.draw(st.sampled_from([k for k in self.KINDS if self.model.outstanding(k)]))
        least = data.draw(st.integers(1, len(self.model.outstanding(kind))))
        hoped = max(least, hoped if self.HOPES else 0)
        self.pair.do(Receive(kind, least, hoped, max(least, limit)))

    @precondition(lambda self: self.model.live())
    @rule(data=st.data())
    def receive_alone(self, data):
        one = self.model.asked[data.draw(st.sampled_from(self.model.live()))]
        if one.operation in self.KINDS:
            self.pair.do(ReceiveAlone(one.operation, one.env))

    # One rule for all that is mostly refused: as a rule each, they would be most of a life.
    @rule(
        data=st.data(), what=st.sampled_from(("ask", "receive", "receive alone")), env=env_indices
    )
    def ask_too_much(self, data, what, env):
        kind = self.a_kind(data)
        least = len(self.model.outstanding(kind)) + 1
        event: Event = Receive(kind, least, least, least)
        if what == "ask":
            event = Ask(kind, tuple(data.draw(st.permutations(range(ENVS)))[: env + 1]))
        elif what == "receive alone":
            event = ReceiveAlone(kind, env)
        self.pair.do(event)

    @rule(rarely=st.integers(0, 19), env=env_indices)
    def end(self, rarely, env):
        if rarely == 7:  # not 0: that is drawn most often
            self.pair.do(Close())
        elif rarely > 16 and not self.model.closed:
            self.pair.do(Lose(env))

    @invariant()
    def what_it_shows_is_as_promised(self):
        self.pair.compare()
