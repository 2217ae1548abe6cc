"""What a receiving call asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from reference_impl.pool.messages import Operation
from reference_impl.pool.state import PoolState

Find: TypeAlias = Callable[[PoolState], tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a receiving call asks for; see `AsyncCalls.async_step_recv`."""

    min_get: int | None = None
    env_index: int | None = None
    max_get: int | None = None
    timeout: float | None = None

    def finders(self, operation: Operation, min_get: int, num_envs: int) -> tuple[Find, Find]:
        """Return what asks the ledger, and what asks it once the deadline has come.

        Args:
            operation: whose results are wanted.
            min_get: how many at least, where this does not say.
            num_envs: how many there can be.

        Raises:
            ValueError: arguments contradict each other.
        """
        at_least = min_get if self.min_get is None else self.min_get
        check_receive(at_least, self.max_get, self.timeout)
        env_index = self.env_index
        if env_index is not None:

            def single(state: PoolState) -> tuple[int, ...] | None:
                return state.ready_single(operation, env_index)

            return single, single
        limit = num_envs if self.max_get is None else self.max_get
        hoped = at_least if self.timeout is None else limit

        def find(state: PoolState, hoped: int = hoped) -> tuple[int, ...] | None:
            return state.ready_batch(operation, at_least, hoped=hoped, limit=limit)

        return find, lambda state: find(state, at_least)


def check_receive(min_get: int, max_get: int | None, timeout: float | None) -> None:
    """Refuse arguments of a receiving call that contradict each other.

    Raises:
        ValueError: naming the argument and its value.
    """
    if min_get < 1:
        raise ValueError(f"min_get must be positive, got {min_get!r}")
    if max_get is not None and max_get < min_get:
        raise ValueError(f"max_get must be at least min_get={min_get!r}, got {max_get!r}")
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"timeout must be non-negative, got {timeout!r}")
