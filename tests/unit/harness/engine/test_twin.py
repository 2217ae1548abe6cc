"""The serial twin of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from harness.engine.twin import Twin
from harness.payloads.link import SilentLink
from harness.ports import pool as port
from harness.ports.entries import Compare, Entered

STEP = Compare(entry="step", overwrite=True)
LEAF = {"kind": "tensor", "shape": [2], "dtype": "float32", "device": "cpu", "values": [0.0, 1.0]}


class Told:
    """A pool that only says what it was asked."""

    def __init__(self, _setup: port.PoolSetup, factories: Sequence[Any], _: float) -> None:
        self.links = [factory.link for factory in factories]
        self.calls: list[tuple[Any, ...]] = []
        self.closed = False

    def enter(self, entry: str, actions: Any, mask: Any, *, overwrite: bool) -> Entered:
        self.calls.append((entry, actions.tolist(), mask.tolist(), overwrite))
        return Entered(returned={"reward": LEAF}, promised={})

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def made() -> list[Told]:
    return []


@pytest.fixture
def twin(made: list[Told]) -> Twin:
    def make(*arguments: Any) -> Any:
        made.append(Told(*arguments))
        return made[0]

    pool = port.PoolPort(capabilities=port.PoolCapabilities(), make=make, twin=make)
    return Twin(pool, port.PoolSetup(num_envs=2), 1.0)


def test_it_makes_the_call_and_keeps_what_came_of_it(twin, made):
    actions, mask = np.array([3.0, 4.0], dtype=np.float32), np.array([True, False])
    assert twin.expected(STEP, actions, mask) == {"reward": LEAF}
    assert made[0].calls == [("step", [3.0, 4.0], [True, False], False)]


@pytest.mark.usefixtures("twin")
def test_its_envs_journal_nothing(made):
    assert [type(link) for link in made[0].links] == [SilentLink, SilentLink]


def test_closing_it_closes_its_pool(twin, made):
    twin.close()
    assert made[0].closed
