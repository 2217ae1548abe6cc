"""Batches that are lent: they lie in the memory that the pool's workers write to."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tensordict import TensorDict

from reference_impl.pool.fast_tensordicts import emptied

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")  # a tensordict, or a tuple of them


class Lease(Generic[T]):
    """A batch that was not copied; until it is released its envs take no step and no reset.

    It is to be read, not to be written to. `release` empties its tensordicts; a tensor that was
    taken out of them stays readable for ever, also when the pool is closed, but shows what comes
    next once its env is asked again. A context manager that enters as the batch and releases it.

    Attributes:
        batch: what the receiving call of the same name without a lease returns.
    """

    def __init__(self, batch: T, give_back: Callable[[], None]) -> None:
        self.batch: T = batch
        self._give_back = give_back
        # Guards `_released`: without it two threads could give the envs back twice, the second time
        # after they were lent again.
        self._lock = threading.Lock()
        self._released = False

    def release(self) -> None:
        """Let the envs be asked again; from any thread, any number of times."""
        with self._lock:
            if self._released:
                return
            self._released = True
        parts: Any = self.batch
        for part in parts if isinstance(parts, tuple) else (parts,):
            if type(part) is TensorDict:  # else it was not made of columns, and is a copy
                emptied(part)
        self._give_back()

    def __enter__(self) -> T:
        return self.batch

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
