"""Which level each env may be at, as a pool's history goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import BUILDING_VERBS
from harness.checkers._walk import ANSWERING, ASKING, turns
from harness.model import probe
from harness.model.history import History, Operation


@dataclass(slots=True)
class Env:
    """One env.

    Attributes:
        levels: at which it may be; one, unless a call that failed has left it open.
        waiting: what it will be at after its next reset; None if nothing waits.
    """

    levels: frozenset[int] = frozenset({0})
    waiting: int | None = None

    def reset(self) -> None:
        """The env was reset: what waited for that is in force."""
        if self.waiting is not None:
            self.levels, self.waiting = frozenset({self.waiting}), None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A level that was shown, and those that it could be."""

    operation: Operation
    env: int
    level: int | None
    allowed: frozenset[int]
    changed_by: Operation | None


@dataclass(slots=True)
class Levels:
    """Walks through a history."""

    history: History
    _envs: dict[int, Env] = field(default_factory=dict)
    _sent: dict[int, frozenset[int]] = field(
        default_factory=dict
    )  # by action, for what is in flight
    _last: Operation | None = None
    _built_at: int = 0

    def seen(self) -> Iterator[Seen]:
        """Every level that a row or a read shows, in the order in which the driver learnt of them."""
        for event, op in turns(self.history):
            if event is not op.invoked:
                yield from self._completed(op)
            elif op.op in ASKING:
                for env, action in enumerate(op.arguments["actions"]):
                    self._sent[int(action)] = self._env(env).levels

    def _env(self, env: int) -> Env:
        return self._envs.setdefault(env, Env(levels=frozenset({self._built_at})))

    def _completed(self, op: Operation) -> Iterator[Seen]:
        if op.op in BUILDING_VERBS:
            self._built_at = int(op.arguments.get("level", self._built_at))
            self._envs.clear()
        elif op.op == "set_params":
            self._set(op)
        elif op.op == "reset_where" and op.status == "ok":
            self._reset([env for env, masked in enumerate(op.arguments["mask"]) if masked])
        elif op.op == "reset" and op.status == "ok":
            self._reset(range(int(self.history.setup["num_envs"])))
        elif op.op == "read_params" and op.status == "ok":
            for env, level in enumerate(op.result["levels"]):
                yield self._look(op, env, int(level), self._env(env).levels)
        elif op.op in ANSWERING and op.status == "ok":
            for row in rows_of(op):
                yield from self._stepped(op, row)

    def _reset(self, envs: Iterable[int]) -> None:
        for env in envs:
            self._env(env).reset()

    def _set(self, op: Operation) -> None:
        self._last = op
        refused = op.arguments.get("refused_by")
        for each in op.arguments["envs"]:
            env, level = self._env(int(each)), int(op.arguments["level"])
            if op.status != "ok":
                # Whoever refused has what it had; of the others nobody can tell yet.
                if each != refused and not op.arguments.get("refusable"):
                    env.levels |= {level}
            elif op.arguments["when"] == "reset":
                env.waiting = level
            else:
                env.levels = frozenset({level})

    def _stepped(self, op: Operation, row: Row) -> Iterator[Seen]:
        env = self._env(row.env)
        landed = row.landed(same_step=True) or row.observation
        allowed = env.levels
        if landed is not None:
            allowed = self._sent.get(landed.action, allowed)
        if row.reward is not None and row.reward != 0.0:
            try:
                level: int | None = probe.level_in(row.reward)[0]
            except ValueError:
                level = None
            yield self._look(op, row.env, level, allowed)
        if row.ended:
            env.reset()

    def _look(self, op: Operation, env: int, level: int | None, allowed: frozenset[int]) -> Seen:
        if level in allowed and len(self._env(env).levels) > 1 and level is not None:
            self._env(env).levels = frozenset({level})  # from now on it is known
        return Seen(operation=op, env=env, level=level, allowed=allowed, changed_by=self._last)
