"""Comparisons of entry points, as a driver journals them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model.history import Event, History
from tests.unit.harness.checkers.histories import Recorder

NUM_ENVS = 2
REWARD = "next/reward"


def tensor(values: Any, *, dtype: str = "float32") -> dict[str, Any]:
    """A tensor of one column, or of as many as the rows of `values` have."""
    width = len(values[0])
    return {
        "kind": "tensor",
        "shape": [len(values), width],
        "dtype": dtype,
        "device": "cpu",
        "values": values,
    }


def objects(*values: Any) -> dict[str, Any]:
    return {
        "kind": "object",
        "shape": [len(values)],
        "dtype": None,
        "device": None,
        "values": list(values),
    }


def promise(leaf: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in leaf.items() if key != "values"}


def step_of(rewards: list[list[float]]) -> dict[str, Any]:
    """What a step returns, but for the mark."""
    return {"action": tensor([[1.0], [2.0]]), REWARD: tensor(rewards)}


class Compared:
    """A history of comparisons."""

    def __init__(self) -> None:
        self.recorder = Recorder()

    def step(
        self,
        returned: Mapping[str, Any],
        expected: Mapping[str, Any] | None = None,
        *,
        entry: str = "step",
        mask: tuple[bool, ...] = (True, True),
        **more: Any,
    ) -> Event:
        """A call that returned; without `expected`, what the twin returned is that, without the mark."""
        if expected is None:
            expected = {key: leaf for key, leaf in returned.items() if key != "env_index"}
        promised = {key: promise(leaf) for key, leaf in expected.items() if key == REWARD}
        invoked = self.invoke(entry, mask, expected)
        return self.recorder.ok(invoked, returned=returned, **{"promised": promised, **more})

    def invoke(
        self, entry: str, mask: tuple[bool, ...] = (True, True), expected: Any = None
    ) -> Event:
        arguments = {"entry": entry, "mask": list(mask), "expected": expected or {}}
        return self.recorder.invoke("compare", **arguments)

    def history(self, *, host: str = "bare", **properties: Any) -> History:
        setup = {"num_envs": NUM_ENVS, "host": host}
        return self.recorder.history(setup=setup, properties=properties)
