"""What the ledger of a pool promises, said plainly: every request ever asked, and what became of it.

Nothing is removed and nothing indexed; each question is answered by a look through all of the
requests. `Model.do` says what an event must come to, as a tuple that a subject's `do` has to equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

from reference_impl.pool.messages import CONTROLS, Operation

OPEN, OWED, GONE = "open", "owed", "gone"  # else how it was answered: done, failed, lost
WAIT = ("wait",)


class Ask(NamedTuple):
    """One request to each env."""

    operation: Operation
    envs: tuple[int, ...]
    alone: bool = False


class Answer(NamedTuple):
    """A reply to the n-th request ever asked, by the env that was asked or another one."""

    n: int
    well: bool = True
    by: int | None = None


class GiveUp(NamedTuple):
    """Whoever asked has no more use for the answers."""

    ns: tuple[int, ...]


class Retract(NamedTuple):
    """Requests that were never sent."""

    ns: tuple[int, ...]


class Lose(NamedTuple):
    """An env cannot be reached any more."""

    env: int


class TakeOver(NamedTuple):
    """A new worker wants to know what its predecessor was asked."""

    env: int


class Receive(NamedTuple):
    """A batch: at least `least`, waiting on below `hoped`, at most `limit`."""

    operation: Operation
    least: int = 1
    hoped: int = 1
    limit: int = 99


class ReceiveAlone(NamedTuple):
    """What one env answered."""

    operation: Operation
    env: int


class ReceiveGroup(NamedTuple):
    """Certain requests, all of them."""

    ns: tuple[int, ...]


class Close(NamedTuple):
    """The end."""


Event: TypeAlias = (
    Ask
    | Answer
    | GiveUp
    | Retract
    | Lose
    | TakeOver
    | Receive
    | ReceiveAlone
    | ReceiveGroup
    | Close
)
Outcome: TypeAlias = tuple[object, ...]


@dataclass(slots=True)
class Asked:
    """One request and what became of it; `when` orders the answers."""

    env: int
    operation: Operation
    alone: bool
    fate: str = OPEN
    when: int = 0

    @property
    def live(self) -> bool:
        """Whether somebody is still to receive it."""
        return self.fate not in (OWED, GONE)


class Model:
    """The promise."""

    def __init__(self, num_envs: int, owed_max: int) -> None:
        self.num_envs, self.owed_max = num_envs, owed_max
        self.asked: list[Asked] = []
        self.lost: set[int] = set()
        self.closed = False
        self.dropped = 0
        self._moment = 0

    def those(self, *fates: str, env: int | None = None) -> list[int]:
        """The requests of certain fates, of one env or all."""
        return [
            n for n, one in enumerate(self.asked) if one.fate in fates and env in (None, one.env)
        ]

    def live(self) -> list[int]:
        """The requests that are still to be received."""
        return [n for n, one in enumerate(self.asked) if one.live]

    def busy(self) -> set[int]:
        """The envs of those."""
        return {one.env for one in self.asked if one.live}

    def moving(self) -> set[int]:
        """Those that were asked for more than a control."""
        live = (one for one in self.asked if one.live)
        return {one.env for one in live if one.operation not in CONTROLS}

    def outstanding(self, operation: Operation) -> list[int]:
        """Those that batches of `operation` consist of."""
        return [
            n
            for n in self.live()
            if self.asked[n].operation is operation and not self.asked[n].alone
        ]

    def observed(self) -> Outcome:
        """What can be read off without an event."""
        unanswered = [self.those(OPEN, OWED, env=env) for env in range(self.num_envs)]
        return (
            self.closed,
            frozenset(self.busy()),
            frozenset(self.lost),
            self.dropped,
            tuple(len(self.outstanding(operation)) for operation in Operation),
            tuple(min(ns, default=None) for ns in unanswered),
        )

    def key(self) -> Outcome:
        """The state without numbers that only grow: states of one key have one future."""
        kept = [n for n, one in enumerate(self.asked) if one.fate != GONE]
        times = sorted(self.asked[n].when for n in kept)
        requests = tuple(
            (one.env, one.operation, one.alone, one.fate, times.index(one.when))
            for one in (self.asked[n] for n in kept)
        )
        return (requests, frozenset(self.lost), self.closed)

    def do(self, event: Event) -> Outcome:
        """Change as the event asks; return what it comes to."""
        match event:
            case Ask():
                return self._ask(event)
            case Answer():
                return self._answer(event)
            case Receive() | ReceiveAlone() | ReceiveGroup():
                return ("Closed",) if self.closed else self._receive(event)
            case TakeOver(env):
                self._forget_owed(env)
                return ("taken over", *self.those(OPEN, env=env))
            case _:
                self._change(event)
                return ()

    def _change(self, event: GiveUp | Retract | Lose | Close) -> None:
        match event:
            case GiveUp(ns):
                for one in (self.asked[n] for n in ns):
                    self.dropped += one.fate not in (OPEN, OWED, GONE)
                    one.fate = OWED if one.fate in (OPEN, OWED) else GONE
            case Retract(ns):
                for n in ns:
                    self.asked[n].fate = GONE
            case Lose(env):
                self._forget_owed(env)
                for n in self.those(OPEN, env=env):
                    self._settle(n, "lost")
                self.lost.add(env)
            case Close():
                self.closed = True
            case _:
                assert_never(event)

    def _ask(self, event: Ask) -> Outcome:
        if self.closed:
            return ("Closed",)
        for env in event.envs:
            if env in self.lost:
                return ("WorkerDied", env)
        taken = set() if event.operation in CONTROLS else self.moving()
        taken |= {env for env in event.envs if len(self.those(OWED, env=env)) >= self.owed_max}
        if taken & set(event.envs):
            return ("busy",)
        first = len(self.asked)
        self.asked += [Asked(env, event.operation, event.alone) for env in event.envs]
        return ("asked", *range(first, len(self.asked)))

    def _answer(self, event: Answer) -> Outcome:
        one = self.asked[event.n]
        if event.by in (None, one.env):
            if one.fate == OPEN:
                self._settle(event.n, "done" if event.well else "failed")
                return (True,)
            if one.fate == OWED:
                one.fate = GONE
        self.dropped += 1
        return (False,)

    def _receive(self, event: Receive | ReceiveAlone | ReceiveGroup) -> Outcome:
        least, hoped, limit = 0, 99, 99
        wanted: list[int] = []
        match event:
            case Receive(operation, least, hoped, limit):
                wanted = self.outstanding(operation)
            case ReceiveAlone(operation, env):
                least = 1
                wanted = [
                    n
                    for n in self.live()
                    if (self.asked[n].env, self.asked[n].operation) == (env, operation)
                ]
            case ReceiveGroup(ns):
                wanted = list(ns)
        if least > len(wanted):
            return ("too few",)
        answered = [n for n in wanted if self.asked[n].fate != OPEN]
        answered.sort(key=lambda n: self.asked[n].when)
        for n in answered:
            fate = self.asked[n].fate
            if fate != "done":
                self.asked[n].fate = GONE
                return ("WorkerError" if fate == "failed" else "WorkerDied", self.asked[n].env)
        if len(answered) < min(hoped, len(wanted)):
            return WAIT
        chosen = answered[:limit] if isinstance(event, Receive) else wanted
        if isinstance(event, Receive):
            chosen.sort(key=lambda n: self.asked[n].env)
        for n in chosen:
            self.asked[n].fate = GONE
        return ("got", *chosen)

    def _settle(self, n: int, fate: str) -> None:
        self._moment += 1
        self.asked[n].fate, self.asked[n].when = fate, self._moment

    def _forget_owed(self, env: int) -> None:
        for n in self.those(OWED, env=env):
            self.asked[n].fate = GONE
