"""Runs the verbs of the pool port."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from harness.engine import params
from harness.engine.aside import Busy, in_second_thread
from harness.engine.held import Held
from harness.engine.loader import backend_of
from harness.engine.session import Session
from harness.engine.twin import Twin
from harness.model.plain import to_plain
from harness.payloads import forms
from harness.payloads.env import CountingEnvFactory
from harness.payloads.factories import shaped
from harness.ports import pool as port
from harness.ports import pool_verbs as verbs
from harness.ports.entries import Compare, Entered
from harness.ports.param_verbs import BuildAnew, ReadParams, SetParams

_TOLD = tuple(field.name for field in fields(Entered))

NUMBERS = "biuf"  # numpy's kinds of them
CLOSING = frozenset({"shutdown", "close_beside", "leave"})


class PoolSession(Session):
    """One pool, one after the other, or a second one beside it."""

    _pool: Any = None
    _beside: Any = None
    _busy: Busy | None = None
    _actions = 0
    _lent: int | None = None  # the number of the batch that is lent
    _level = 0  # of envs that are made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = backend_of(self.request.adapter).pool
        assert found is not None
        self._port = found
        self._setup = self.scaled_setup(port.PoolSetup)
        self._held = Held()
        self._twin: Twin | None = None

    def subject(self) -> object:
        """The pool."""
        return self._pool

    def open(self) -> None:
        """Build the pool over probe envs."""
        match self._setup.built:
            case "in_a_thread":
                in_second_thread(self._open)
            case "among_threads" if self._busy is None:
                self._busy = Busy()
                self._open()
            case _:
                self._open()

    def _open(self) -> None:
        self._pool = self._made("worker")

    def _made(self, pool: str) -> Any:
        """A pool whose envs call themselves `pool:INDEX`."""
        setup = self._setup
        factories = [
            shaped(
                setup.factory,
                CountingEnvFactory(
                    env_index=i,
                    base_horizon=setup.horizon,
                    link=self.link,
                    payload=setup.payload,
                    ends=setup.ends,
                    hooks=self.hooks(),
                    tells_keys=setup.watch == "input",
                    pool=pool,
                    level=self._level,
                ),
            )
            for i in range(setup.num_envs)
        ]
        closing = [verb.within_s for verb in self.request.verbs() if verb.do in CLOSING]
        deadline_s = min(closing, default=5.0) * self.request.time_scale
        made = self._port.make(setup, factories, deadline_s)
        wanted = port.methods_of(self._port.capabilities)
        missing = [name for name in wanted if not hasattr(made, name)]
        if missing:
            cls, names = type(made), ", ".join(missing)
            raise TypeError(
                f"{cls.__module__}.{cls.__qualname__} has no {names}, which the port wants"
            )
        return made

    def drop(self) -> None:
        """Forget the pool, and the one beside it."""
        self._pool = self._beside = None
        if self._twin is not None:
            self._twin.close()
            self._twin = None

    def arguments(self, verb: Any) -> dict[str, Any]:
        """Actions are request ids: no two of a cell are the same."""
        num_envs = self._setup.num_envs
        match verb:
            case verbs.Step() | verbs.Send():
                return {"actions": self._next_actions(), **_refusable(verb)}
            case verbs.Reset():
                return _refusable(verb)
            case verbs.ResetWhere():
                return {"mask": list(verb.mask), **_refusable(verb)}
            case Compare():
                return self._compared(verb)
            case verbs.Recv():
                wanted = verb.min_get or num_envs
                lent = {"lent": True} if verb.lent else {}
                asked = {"timeout_s": verb.timeout_s, "min_get": wanted}
                return {**asked, **_refusable(verb), **lent}
            case verbs.Rollout():
                return {"frames": verb.frames}
            case SetParams() | ReadParams() | BuildAnew():
                return params.arguments(verb, num_envs)
            case verbs.Seed():
                return {"value": verb.value}
            case verbs.Shutdown(thread=True):
                return {"thread": True}
            case _:
                return {}

    def _next_actions(self) -> list[int]:
        first = self._actions
        self._actions += self._setup.num_envs
        return list(range(first, self._actions))

    def execute(self, verb: Any) -> None:
        """Run a verb once; a pool that is rebuilt has been used before."""
        if isinstance(verb, verbs.Rebuild):
            self.ask(verbs.Reset())
            self.ask(verbs.Step())
        super().execute(verb)

    def perform(self, verb: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call the pool."""
        match verb:
            case verbs.Reset():
                return self._received(self._pool.reset())
            case verbs.ResetWhere():
                mask = np.array(verb.mask, dtype=np.bool_)
                result = self._received(self._pool.reset_where(mask))
                return {**result, "mask_after": mask.tolist()}
            case verbs.Step():
                return self._received(self._pool.step(_floats(arguments["actions"])))
            case verbs.Send():
                self._pool.send(_floats(arguments["actions"]))
                return {}
            case verbs.Recv():
                timeout_s, min_get = arguments["timeout_s"], arguments["min_get"]
                take = self._pool.lend if verb.lent else self._pool.recv
                result = self._received(take(min_get=min_get, timeout_s=timeout_s))
                self._lent = result["batch"] if verb.lent else self._lent
                return result
            case verbs.GiveBack():
                return self._given_back()
            case Compare():
                mask = np.array(arguments["mask"], dtype=np.bool_)
                entered = self._pool.enter(
                    verb.entry, _floats(arguments["actions"]), mask, overwrite=verb.overwrite
                )
                return {key: to_plain(getattr(entered, key)) for key in _TOLD}
            case verbs.Rollout():
                return self._received(self._pool.rollout(verb.frames))
            case SetParams() | ReadParams():
                return params.perform(self._pool, verb, arguments)
            case _:
                self._silently(verb)
                return {}

    def _given_back(self) -> dict[str, Any]:
        if self._lent is not None:
            self._held.let_go(self._lent)
            self._lent = None
        self._pool.give_back()
        return {}

    def _silently(self, verb: Any) -> None:
        """Call what returns nothing."""
        match verb:
            case verbs.Seed():
                self._pool.seed(verb.value)
            case verbs.Replace():
                self._pool = None
                self.open()
            case verbs.Rebuild() | BuildAnew():
                self._level = verb.level if isinstance(verb, BuildAnew) else self._level
                self._pool.close()
                self._pool = None
                gc.collect()  # what waits for that alone is not a leak, and would be inherited
                self.open()
            case verbs.Idle():
                self.gate.idle(verb.for_s)
            case verbs.Mark():
                self.mark()
            case verbs.Shutdown():
                if verb.thread:
                    in_second_thread(self._pool.close)
                else:
                    self._pool.close()
            case _:
                self._beside_it(verb)

    def _beside_it(self, verb: Any) -> None:
        """Call what concerns the second pool."""
        match verb:
            case verbs.OpenBeside():
                self._beside = self._made("beside")
                self._beside.reset()
            case verbs.CloseBeside():
                self._beside.close()
            case _:
                raise AssertionError(f"no such verb: {verb!r}")

    def after_call(self) -> None:
        """Journal what the batches that were handed out before have become."""
        digests = self._held.digests()
        if digests:
            self.journal.write("observe", "held", digests=digests)

    def _compared(self, verb: Compare) -> dict[str, Any]:
        """The arguments of a comparison, with what the serial twin returns: it is never behind."""
        actions = self._next_actions()
        mask = [True] * self._setup.num_envs if verb.mask is None else list(verb.mask)
        if self._twin is None:
            self._twin = Twin(self._port, self._setup, self.request.time_scale)
        expected = self._twin.expected(verb, _floats(actions), np.array(mask, dtype=np.bool_))
        return {"entry": verb.entry, "mask": mask, "actions": actions, "expected": expected}

    def _received(self, batch: port.Batch) -> dict[str, Any]:
        result = rows(batch, self._setup.payload)
        return {**result, **self._held.take(batch)}

    def _release(self) -> dict[str, Any]:
        self._held.clear()  # what is held may be shared memory, which the census would count
        if self._busy is not None:
            self._busy.end()
        return super()._release()


def _refusable(verb: Any) -> dict[str, Any]:
    return {"refusable": True} if getattr(verb, "refusable", False) else {}


def _floats(values: list[int]) -> port.Floats:
    return np.array(values, dtype=np.float32)


def rows(batch: port.Batch, payload: port.Payload = "plain") -> dict[str, Any]:
    """A batch as JSON rows, one an env; observations as the records that they hold, or why they hold none.

    Raises:
        TypeError: it is no batch, or a column of it has another shape than the port says.
    """
    if not isinstance(batch, port.Batch):
        raise TypeError(f"the port wants a Batch, got {type(batch).__name__}")
    count = len(batch.env_index)
    columns = (field for field in fields(batch) if field.name != "handed")
    for field in columns:
        column = getattr(batch, field.name)
        if column is None:
            continue
        shape = (len(column),) if field.name.endswith("observation") else np.shape(column)
        if shape != (count,):
            problem = f"has shape {[count]}, got {list(shape)}"
            raise TypeError(f"Batch.{field.name} {problem}")
        if not field.name.endswith("observation"):
            dtype = np.asarray(column).dtype
            if dtype.kind not in NUMBERS:
                got = "objects" if dtype.hasobject else str(dtype)
                raise TypeError(f"Batch.{field.name} holds numbers or booleans, got {got}")
    for each in batch.handed:
        if not (hasattr(each, "__array__") or isinstance(each, Mapping | list | tuple)):
            raise TypeError(f"Batch.handed holds arrays, got {type(each).__name__}")
    return {"rows": [_row(batch, i, payload) for i in range(count)]}


def _row(batch: port.Batch, i: int, payload: port.Payload) -> dict[str, Any]:
    def entry(column: Any) -> Any:
        return None if column is None else np.asarray(column[i]).tolist()

    env = int(batch.env_index[i])
    return {
        "env": env,
        "obs": _record(batch.observation, i, payload, env),
        "action": entry(batch.action),
        "reward": entry(batch.reward),
        "terminated": entry(batch.terminated),
        "truncated": entry(batch.truncated),
        "final": _record(batch.final_observation, i, payload, env),
        **({} if batch.normal is None else {"normal": entry(batch.normal)}),
    }


def _record(column: Any, i: int, payload: port.Payload, env: int) -> list[float] | str | None:
    """What an observation says; the reason, if it cannot be read."""
    if column is None:
        return None
    try:
        return forms.read(forms.form_of(payload, env), column[i])
    except ValueError as error:
        return f"{error}"
