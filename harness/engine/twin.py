"""The serial twin of a pool: what the same calls return without workers, on envs of its own."""

from __future__ import annotations

from typing import Any

from harness.model.plain import to_plain
from harness.payloads.env import CountingEnvFactory
from harness.payloads.link import SilentLink
from harness.ports.entries import Compare
from harness.ports.pool import Bools, Floats, PoolPort, PoolSetup


class Twin:
    """A second pool without workers; its envs behave as the pool's do, and journal nothing.

    What it raises is no fault of the backend: it must not be called where errors are taken for one.
    """

    def __init__(self, port: PoolPort, setup: PoolSetup, deadline_s: float) -> None:
        assert port.twin is not None, "entry points to compare are declared, and no twin"
        factories = [
            CountingEnvFactory(
                env_index=i,
                base_horizon=setup.horizon,
                link=SilentLink(),
                payload=setup.payload,
                ends=setup.ends,
            )
            for i in range(setup.num_envs)
        ]
        self._pool: Any = port.twin(setup, factories, deadline_s)

    def expected(self, verb: Compare, actions: Floats, mask: Bools) -> dict[str, Any]:
        """Make the call; what it returned, as JSON values."""
        entered = self._pool.enter(verb.entry, actions, mask, overwrite=False)
        described: dict[str, Any] = to_plain(entered.returned)
        return described

    def close(self) -> None:
        """Let go of its envs."""
        self._pool.close()
