"""Adapters with typical mistakes of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from harness.adapters import gymnasium, numpy_ring
from harness.ports.backend import Backend, Hook
from harness.ports.pool import Batch, Floats, Pool
from harness.ports.storage import StorageSetup, Stored
from tests.backends.serial import SerialPool, backend_over


class Mistaken(SerialPool):
    """Asks a result for something that is not there."""

    def reset(self) -> Batch:
        batch = super().reset()
        return batch.no_such_field  # type: ignore[attr-defined,no-any-return] # that is the point


class NoBatch(SerialPool):
    """Returns the observations alone."""

    def reset(self) -> Batch:
        return np.asarray(super().reset().observation)  # type: ignore[return-value] # that is the point


class ColumnOfReward(SerialPool):
    """Returns the rewards as a column."""

    def step(self, actions: Floats) -> Batch:
        batch = super().step(actions)
        return replace(batch, reward=np.asarray(batch.reward).reshape(-1, 1))


class NoClose(SerialPool):
    """Calls its close something else."""

    def __getattribute__(self, name: str) -> object:
        if name == "close":
            raise AttributeError("'NoClose' object has no attribute 'close'")
        return super().__getattribute__(name)


class NoAutoreset(SerialPool):
    """Says that it resets by itself, and does not."""

    def step(self, actions: Floats) -> Batch:
        batch = super().step(actions)
        final = batch.final_observation
        assert final is not None
        return replace(batch, observation=final)


class Objects(SerialPool):
    """Returns rewards in an array of objects."""

    def step(self, actions: Floats) -> Batch:
        batch = super().step(actions)
        return replace(batch, reward=np.asarray(batch.reward).astype(object))


class Unclosed(SerialPool):
    """Closes none of its envs."""

    def close(self) -> None:
        pass


backend = backend_over(Mistaken, "mistaken")
no_batch = backend_over(NoBatch, "no_batch")
column_of_reward = backend_over(ColumnOfReward, "column_of_reward")
no_close = backend_over(NoClose, "no_close")
no_autoreset = backend_over(NoAutoreset, "no_autoreset")


class OneOff(numpy_ring.NumpyRing):
    """Counts a row more than there is."""

    def read_all(self) -> Stored:
        found = super().read_all()
        return replace(found, length=found.length + 1)


def _one_off(setup: StorageSetup, _: str | None) -> OneOff:
    return OneOff(setup)


def _counting() -> object:
    found = numpy_ring.backend
    assert found.storage is not None
    return replace(found, name="rows_one_off", storage=replace(found.storage, make=_one_off))


def _claiming(name: str, **declared: Any) -> Backend:
    found = backend_over(SerialPool, name)
    assert found.pool is not None
    capabilities = replace(found.pool.capabilities, **declared)
    return replace(found, pool=replace(found.pool, capabilities=capabilities))


def _reversed(*given: Any) -> Any:
    assert gymnasium.backend.pool is not None
    made: Any = gymnasium.backend.pool.make(*given)
    pids = made.worker_pids()[::-1]
    made.worker_pids = lambda: pids
    return made


def _reversing() -> object:
    found = gymnasium.backend
    assert found.pool is not None
    return replace(found, name="reversed_pids", pool=replace(found.pool, make=_reversed))


reversed_pids = _reversing()
rows_one_off = _counting()
serial = backend_over(SerialPool, "serial")
objects = backend_over(Objects, "objects")
unclosed = backend_over(Unclosed, "unclosed")
no_transfers = _claiming("no_transfers", transfers={"thread": frozenset({"results"})})
bad_transport = _claiming("bad_transport", transfers={"threads": frozenset({"results"})})
bad_write = _claiming("bad_write", writes_input=frozenset({"nxt"}))
bad_autoreset = _claiming("bad_autoreset", autoreset="samestep")
misspelt = backend_over(SerialPool, "misspelt", "threads")
claims_processes = backend_over(SerialPool, "claims_processes", "process")


class WrongEnds(SerialPool):
    """Names descriptors that are no ends."""

    def transfer_ends(self, *_: Any) -> list[int]:
        return [0, 1]


class OtherEnds(SerialPool):
    """Names ends that nothing goes through."""

    def transfer_ends(self, *_: Any) -> list[object]:
        return [object()]


nothing = Backend(name="nothing", version=lambda: "1")
no_version = replace(backend, version=lambda: None)  # type: ignore[arg-type,return-value] # that is the point
odd_name = replace(backend, name="my/back end@1")
no_distribution = replace(
    backend_over(SerialPool, "no_distribution"), packages=("no-such-distribution",)
)
no_hook = replace(backend, hooks=(Hook(target="no_such_module:put", transfer="put"),))
one_word = _claiming("one_word", setup={"transport": "thread"})
verbs_of_one = _claiming("verbs_of_one", verbs="seed")
next_step = _claiming("next_step", autoreset="next_step")


def _counting_on(pool: type[Pool], name: str) -> Backend:
    found = _claiming(name, transfers={"thread": frozenset({"results"})})
    assert found.pool is not None
    return replace(found, pool=replace(found.pool, make=pool))


wrong_ends = _counting_on(WrongEnds, "wrong_ends")
other_ends = _counting_on(OtherEnds, "other_ends")
