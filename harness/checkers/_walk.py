"""A walk through a pool's history that keeps, for each env, what it was last seen to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import BUILDING_VERBS, resets_in_step
from harness.model.history import Event, History, Operation
from harness.model.probe import NO_ACTION, Observation

ASKING = frozenset({"step", "send"})
ANSWERING = frozenset({"step", "recv"})
RESETTING = frozenset({"reset", "reset_where"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """An answered step.

    Attributes:
        operation: what returned it.
        row: the answer.
        before: the observation it has to continue; None if that is not known.
        due: the episode had ended, and the env resets in this step instead of taking the action.
        passed_over: resets of other envs since `before`.
    """

    operation: Operation
    row: Row
    before: Observation | None
    due: bool
    passed_over: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """An env that was asked to reset; `row` is None if the answer has none for it."""

    operation: Operation
    env: int
    row: Row | None
    before: Observation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """An env that a reset's mask leaves alone; `idle` if it had no step under way."""

    operation: Operation
    env: int
    row: Row | None
    before: Observation | None
    idle: bool


Move = Transition | Restart | PassedOver


@dataclass(slots=True)
class _Env:
    last: Observation | None = None
    due: bool = False
    passed_over: list[Operation] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)  # seqs of the events that asked for a step
    seen_seq: int = -1  # of the event that asked for what `last` shows

    def see(self, observation: Observation | None, *, due: bool = False) -> None:
        self.last = observation
        self.due = due
        self.passed_over = []

    def answer(self, asked_seq: int) -> None:
        """An env does one thing after the other: what was asked before is no longer under way."""
        self.pending = [seq for seq in self.pending if seq > asked_seq]
        self.seen_seq = max(self.seen_seq, asked_seq)


def turns(history: History) -> Iterator[tuple[Event, Operation]]:
    """What the driver asked for and was told, in order, each with its operation."""
    both = {op.invoked.seq: op for op in history.operations} | {
        op.completed.seq: op for op in history.operations if op.completed is not None
    }
    return ((event, both[event.seq]) for event in history.events if event.seq in both)


def moves(history: History) -> Iterator[Move]:
    """The moves of all envs, in the order in which the driver learnt of them."""
    return _Walk(history).moves()


class _Walk:
    def __init__(self, history: History) -> None:
        self._history = history
        self._same_step = resets_in_step(history)
        self._envs: dict[int, _Env] = {
            index: _Env() for index in range(int(history.setup.get("num_envs", 0)))
        }
        self._asked: dict[int, int] = {}  # action -> seq of the event that asked for it
        self._blind = False  # an operation that never ended may still move any env

    def moves(self) -> Iterator[Move]:
        for event, operation in turns(self._history):
            if event is operation.invoked:
                self._invoked(operation)
            else:
                yield from self._completed(operation)

    def _env(self, index: int) -> _Env:
        return self._envs.setdefault(index, _Env())

    def _invoked(self, operation: Operation) -> None:
        if operation.op in ASKING:
            for index, action in enumerate(operation.arguments["actions"]):
                self._asked[int(action)] = operation.invoked.seq
                self._env(index).pending.append(operation.invoked.seq)
        if operation.status == "open":
            self._blind = True
            self._forget()

    def _completed(self, operation: Operation) -> Iterator[Move]:
        if operation.op in BUILDING_VERBS or operation.op == "shutdown":
            self._envs = {index: _Env() for index in self._envs}
        elif operation.status != "ok" or operation.op in ("rollout", "compare"):
            if operation.op == "reset_where":
                yield from self._not_reset(operation)
            self._forget()
        elif operation.op in ANSWERING:
            for row in rows_of(operation):
                yield self._answered(operation, row)
        elif operation.op in RESETTING:
            yield from self._reset(operation)

    def _forget(self) -> None:
        for env in self._envs.values():
            env.see(None)

    def _answered(self, operation: Operation, row: Row) -> Transition:
        env = self._env(row.env)
        landed = row.landed(same_step=self._same_step)
        asked_seq = self._asked_seq(env, landed)
        late = asked_seq is not None and asked_seq < env.seen_seq
        found = Transition(
            operation=operation,
            row=row,
            before=None if late else env.last,
            due=env.due and not late,
            passed_over=tuple(env.passed_over),
        )
        if asked_seq is not None:
            env.answer(asked_seq)
        if landed is None or landed.env_index != row.env:
            env.see(None)
        elif not late:
            self._keep(env, row.observation, due=row.ended and not self._same_step)
        return found

    def _asked_seq(self, env: _Env, landed: Observation | None) -> int | None:
        """When the step was asked for that led here; a step that resets does not tell its action."""
        if landed is None or landed.action == NO_ACTION:
            return env.pending[0] if env.pending else None
        return self._asked.get(landed.action)

    def _reset(self, operation: Operation) -> Iterator[Move]:
        rows = {row.env: row for row in rows_of(operation)}
        mask = operation.arguments.get("mask") or [True] * len(self._envs)
        for index, masked in enumerate(mask):
            env = self._env(index)
            row = rows.get(index)
            if masked:
                yield Restart(operation=operation, env=index, row=row, before=env.last)
                self._keep(env, row.observation if row else None)
                env.answer(operation.invoked.seq)
                continue
            yield PassedOver(
                operation=operation,
                env=index,
                row=row,
                before=env.last,
                idle=not env.pending and env.last is not None,
            )
            env.passed_over.append(operation)

    def _not_reset(self, operation: Operation) -> Iterator[PassedOver]:
        """A partial reset may fail, but never move an env that it leaves alone."""
        for index, masked in enumerate(operation.arguments["mask"]):
            if not masked:
                env = self._env(index)
                idle = not env.pending and env.last is not None
                yield PassedOver(
                    operation=operation, env=index, row=None, before=env.last, idle=idle
                )

    def _keep(self, env: _Env, observation: Observation | None, *, due: bool = False) -> None:
        env.see(None if self._blind else observation, due=due)
