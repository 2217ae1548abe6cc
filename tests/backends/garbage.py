"""Backends that return whatever comes to their mind, by the number that is their scenario's `horizon`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.adapters.numpy_ring import NumpyRing
from harness.ports.backend import Backend
from harness.ports.pool import Batch, EnvFactory, Floats, PoolCapabilities, PoolPort, PoolSetup
from harness.ports.storage import Sampled, StorageCapabilities, StoragePort, StorageSetup
from tests.backends.serial import SerialPool


class Mute:
    """Raises whatever is done to it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    __repr__: Any = None
    __reduce__: Any = None
    __iter__: Any = None
    __array__: Any = None


class MuteError(Exception):
    """Cannot say what is wrong."""

    def __str__(self) -> str:
        raise KeyError("no text")


def raises(_: Any) -> Any:
    """Raise that."""
    raise MuteError


def endless() -> list[Any]:
    """A list that contains itself."""
    found: list[Any] = [0]
    found.append(found)
    return found


def _but(good: Any, **changed: Any) -> Any:
    """The same with other values, of whatever type."""
    return replace(good, **changed)


def _ragged(b: Batch) -> Batch:
    return replace(b, observation=[b.observation[0], b.observation[1][:-1]])


STEPS: tuple[Callable[[Any], Any], ...] = (
    lambda _: None,
    lambda _: Mute(),
    raises,
    _ragged,
    lambda b: _but(b, observation=None),
    lambda b: _but(b, observation=[None, None]),
    lambda b: _but(b, observation=[Mute(), Mute()]),
    lambda b: _but(b, observation=[{}, {1: Mute()}]),
    lambda b: _but(b, observation=[endless(), endless()]),
    lambda b: _but(b, observation=[(each, None) for each in b.observation]),
    lambda b: _but(b, observation=np.array([None, object()], dtype=object)),
    lambda b: _but(b, observation=b.observation.astype("complex64")),
    lambda b: _but(b, observation=b.observation.view("V4")),
    lambda b: _but(b, final_observation=[Mute, Mute], terminated=[True, True]),
    lambda b: _but(b, reward=b.reward.astype("complex64")),
    lambda b: _but(b, reward=[b"a", b"b"]),
    lambda b: _but(b, reward=["a", "b"]),
    lambda b: _but(b, reward=np.array([1, 2], "datetime64[s]")),
    lambda b: _but(b, reward=b.reward.astype("longdouble")),
    lambda b: _but(b, terminated=b.reward * np.nan),
    lambda b: _but(b, env_index=None),
    lambda b: _but(b, env_index=[None, 1]),
    lambda b: _but(b, env_index=[10**30, -(10**30)]),
    lambda b: _but(b, handed=[Mute()]),
    lambda b: _but(b, handed=Mute()),
    lambda b: _but(b, handed=[endless()], reward=None),
    lambda b: _but(b, normal=["x", "y"]),
)


class GarbagePool(SerialPool):
    """The first step returns it."""

    def step(self, actions: Floats) -> Any:
        return STEPS[self.setup.horizon - 1](super().step(actions))


PIDS: tuple[Any, ...] = (None, [None], ["one"], [object()], Mute(), [1.5, []])


class GarbagePids(SerialPool):
    """Names them as its workers."""

    def worker_pids(self) -> Any:
        return PIDS[self.setup.horizon - 1]


class ForeignPids(SerialPool):
    """Names as its workers the process whose number is the scenario's `horizon`, which is not its own."""

    def worker_pids(self) -> list[int]:
        return [self.setup.horizon] * len(self.envs)


def _columns(stored: Any, **changed: Any) -> Any:
    return replace(stored, columns={**stored.columns, **changed})


READS: tuple[Callable[[Any], Any], ...] = (
    lambda _: None,
    lambda _: Mute(),
    raises,
    lambda s: _but(s, length=None),
    lambda s: _but(s, length=float("nan")),
    lambda s: _but(s, slots=None),
    lambda s: _but(s, slots=["a"] * 24),
    lambda s: _but(s, slots=[]),
    lambda s: _but(s, columns=None),
    lambda s: _but(s, columns={}),
    lambda s: _columns(s, number=None),
    lambda s: _columns(s, number=["a"] * 4),
    lambda s: _columns(s, number=s.columns["number"][:-1]),
    lambda s: _columns(s, stream=s.columns["stream"] * np.nan),
    lambda s: _columns(s, stream=s.columns["stream"] * 1j),
    lambda s: _columns(s, body=[Mute()] * 4),
    lambda s: _columns(s, body=endless()),
)


class GarbageRing(NumpyRing):
    """Reads them back."""

    def __init__(self, setup: StorageSetup) -> None:
        super().__init__(setup)
        self.kind = setup.horizon - 1

    def read_all(self) -> Any:
        return READS[self.kind](super().read_all())


class UnsentRing(GarbageRing):
    """Samples what no pipe carries, and raises what cannot be pickled and has no text."""

    def sample(self, size: int) -> Sampled:
        if self.kind:
            raise type("Local", (MuteError,), {})
        return replace(super().sample(size), columns={"number": lambda: None})


def _pool(made: Callable[[PoolSetup, Sequence[EnvFactory], float], Any], transport: str) -> Backend:
    able = PoolCapabilities(setup={"transport": frozenset({transport})})
    return Backend(name="garbage", version=lambda: "1", pool=PoolPort(capabilities=able, make=made))


def _storage(made: Callable[[StorageSetup], Any], *writers: str) -> Backend:
    able = StorageCapabilities(setup={"writers": frozenset(writers)})
    port = StoragePort(capabilities=able, make=lambda setup, _: made(setup))
    return Backend(name="garbage", version=lambda: "1", storage=port)


pool = _pool(GarbagePool, "thread")
pids = _pool(GarbagePids, "thread")
foreign = _pool(ForeignPids, "process")
storage = _storage(GarbageRing, "driver")
unsent = _storage(UnsentRing, "process")
