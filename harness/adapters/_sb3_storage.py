"""SB3's `ReplayBuffer`, of one env and one process: rows are transitions, with their stamp in each part."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer

from harness.ports.storage import (
    Columns,
    Sampled,
    StorageCapabilities,
    StoragePort,
    StorageSetup,
    Stored,
)

_KEYS = ("stream", "number", "trajectory", "step")


class TransitionBuffer:
    """Observations are the numbers of a row, next observations its body, actions the numbers again."""

    def __init__(self, setup: StorageSetup) -> None:
        numbers = spaces.Box(0, np.iinfo(np.int64).max, (len(_KEYS),), dtype=np.int64)
        self._buffer = ReplayBuffer(setup.capacity, numbers, numbers, device="cpu", n_envs=1)

    def extend(self, columns: Columns) -> None:
        """Add rows one by one: there is no other way."""
        numbers = np.stack([columns[key] for key in _KEYS], -1)
        for row, body in zip(numbers, columns["body"], strict=True):
            reward = body[:1].astype("float32")
            done = np.array([row[3] == 0])
            self._buffer.add(row[None], row[None], row[None], reward, done, [{}])

    def sample(self, size: int) -> Sampled:
        """Draw transitions."""
        found = self._buffer.sample(size)
        parts = [
            each.numpy() for each in (found.observations, found.next_observations, found.actions)
        ]
        return Sampled(slots=None, columns=_columns(parts, found.rewards.numpy().reshape(-1)))

    def read_all(self) -> Stored:
        """Everything, by the buffer's own places."""
        rows = self._buffer.size()
        arrays = (self._buffer.observations, self._buffer.next_observations, self._buffer.actions)
        parts = [each[:rows, 0].copy() for each in arrays]
        columns = _columns(parts, self._buffer.rewards[:rows, 0])
        return Stored(length=rows, slots=range(rows), columns=columns)

    def empty(self) -> None:
        """Drop all rows."""
        self._buffer.reset()

    def close(self) -> None:
        """Nothing is to be let go."""


def _columns(parts: list[Any], rewards: Any) -> dict[str, Any]:
    """Rows out of transitions; where two parts disagree, the number is nobody's."""
    observations, others, actions = parts
    same = (observations == others).all(-1) & (observations == actions).all(-1)
    found = {key: np.where(same, observations[:, i], 0) for i, key in enumerate(_KEYS)}
    return {**found, "body": np.repeat(rewards[:, None], 3, 1)}


def _make(setup: StorageSetup, path: str | None) -> TransitionBuffer:
    assert path is None
    return TransitionBuffer(setup)


port = StoragePort(
    capabilities=StorageCapabilities(
        verbs=frozenset({"empty"}),
        setup={"writers": frozenset({"driver"})},
        defects=frozenset(),
    ),
    make=_make,
)
