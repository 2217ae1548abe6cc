"""The real ledger as a subject of the events of `ledger_model`, and all events that a state allows."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, assert_never

from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.pool.messages import Done, Failed, Operation
from reference_impl.pool.state import Lost, PoolState
from tests.unit.reference_impl.pool.ledger_model import (
    OPEN,
    OWED,
    WAIT,
    Answer,
    Ask,
    Close,
    GiveUp,
    Lose,
    Receive,
    ReceiveAlone,
    ReceiveGroup,
    Retract,
    TakeOver,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.unit.reference_impl.pool.ledger_model import Event, Model, Outcome


class Ledger:
    """`PoolState`, with requests called by the order in which they were asked."""

    def __init__(self, num_envs: int) -> None:
        self.state = PoolState(num_envs)
        self.ids: list[int] = []
        self._num_envs = num_envs

    def do(self, event: Event) -> Outcome:
        """Carry the event out; return what it came to, in the model's words."""
        try:
            return self._do(event)
        except Closed:
            return ("Closed",)
        except WorkerDied as error:
            return ("WorkerDied", error.worker)
        except WorkerError as error:
            return ("WorkerError", error.worker)
        except RuntimeError as error:
            return ("busy",) if "still busy" in str(error) else ("too few",)

    def observed(self) -> Outcome:
        """See `Model.observed`."""
        state = self.state
        oldest = [state.oldest_unanswered(env) for env in range(self._num_envs)]
        return (
            state.closed,
            state.busy(),
            frozenset(state.lost),
            state.dropped,
            tuple(state.outstanding(operation) for operation in Operation),
            tuple(None if id_ is None else self.ids.index(id_) for id_ in oldest),
        )

    def _do(self, event: Event) -> Outcome:
        state = self.state
        match event:
            case Ask(operation, envs, alone):
                first = len(self.ids)
                given = {env: ("given", first + i) for i, env in enumerate(envs)}
                ids = state.begin(operation, given, alone=alone)
                assert not self.ids or min(ids) > max(self.ids)
                self.ids += ids
                return ("asked", *range(first, len(self.ids)))
            case Answer(n, well, by):
                id_ = self.ids[n]
                reply = Done(request=id_, result=("result", n)) if well else _failed(id_)
                return (state.answer(self._env(n) if by is None else by, reply),)
            case Receive(operation, least, hoped, limit):
                return self._got(state.ready_batch(operation, least, hoped=hoped, limit=limit))
            case ReceiveAlone(operation, env):
                return self._got(state.ready_single(operation, env))
            case ReceiveGroup(ns):
                return self._got(state.ready_group(tuple(self.ids[n] for n in ns)))
            case TakeOver(env):
                taken = state.take_over(env)
                assert all(given == ("given", self.ids.index(id_)) for id_, _, given in taken)
                return ("taken over", *(self.ids.index(id_) for id_, _, _ in taken))
            case _:
                self._change(event)
                return ()

    def _change(self, event: GiveUp | Retract | Lose | Close) -> None:
        match event:
            case GiveUp(ns):
                self.state.abandon([self.ids[n] for n in ns])
            case Retract(ns):
                self.state.retract([self.ids[n] for n in ns])
            case Lose(env):
                self.state.lose(env, Lost())
            case Close():
                self.state.close()
            case _:
                assert_never(event)

    def _got(self, found: tuple[int, ...] | None) -> Outcome:
        if found is None:
            return WAIT
        ns = [self.ids.index(id_) for id_ in found]
        for n, delivery in zip(ns, self.state.deliver(found), strict=True):
            assert delivery == (self.env_of[n], ("given", n), ("result", n))
        return ("got", *ns)

    env_of: Any = ()  # who was asked the n-th request; whoever drives both sets it

    def _env(self, n: int) -> int:
        return int(self.env_of[n])


class Pair:
    """A subject and the model, which every event must find and leave in agreement."""

    def __init__(self, subject: Any, model: Model) -> None:
        self.subject, self.model = subject, model
        subject.env_of = _Envs(model)

    def do(self, event: Event) -> None:
        """Carry `event` out on both."""
        expected = self.model.do(event)
        came = self.subject.do(event)
        assert came == expected, f"{event}: came to {came}, not {expected}"

    def compare(self) -> None:
        """Hold what can be read off against each other."""
        came, expected = self.subject.observed(), self.model.observed()
        assert came == expected, f"shows {came}, not {expected}"


class _Envs:
    def __init__(self, model: Model) -> None:
        self._model = model

    def __getitem__(self, n: int) -> int:
        return self._model.asked[n].env


def events(model: Model, asks: Sequence[Ask], live_max: int) -> Iterator[Event]:
    """Every event that can befall a ledger in this state, of those that ask one of `asks`.

    Args:
        model: the state.
        asks: what may be asked, while no more than `live_max` are unreceived or owed.
        live_max: that bound.
    """
    waiting, owed = model.those(OPEN), model.those(OWED)
    live = model.live()
    for ask in asks:
        if len(live) + len(owed) + len(ask.envs) <= live_max:
            yield ask
    answered_last = [n for n, one in enumerate(model.asked) if not one.live][-1:]
    for n in (*live, *owed, *(n for n in answered_last if n not in owed)):
        yield from (Answer(n), Answer(n, well=False))
        if model.num_envs > 1:
            yield Answer(n, by=(model.asked[n].env + 1) % model.num_envs)
    yield from map(GiveUp, _some_of(live))
    yield from map(Retract, _some_of(waiting))
    yield from map(ReceiveGroup, _some_of(live))
    yield from (each(env) for env in range(model.num_envs) for each in (Lose, TakeOver))
    for operation in {ask.operation: None for ask in asks}:
        yield from (ReceiveAlone(operation, env) for env in range(model.num_envs))
        for least in range(1, model.num_envs + 1):
            yield from (
                Receive(operation, least, hoped, limit)
                for hoped in range(least, model.num_envs + 1)
                for limit in range(least, model.num_envs + 1)
            )
    yield Close()


def _some_of(ns: list[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(ns, size) for size in range(1, len(ns) + 1))


def _failed(id_: int) -> Failed:
    return Failed(request=id_, cause="planned", traceback="")
