"""What both sides of a scheme have: how it was made, which model it is for, and where models are looked up."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, get_args

from reference_impl.weights.packing import Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_impl.weights.outgoing import Side

DEFAULT_TIMEOUT_S: Final = 10.0
START_TIMEOUT_S: Final = 120.0  # as torchrl's: workers that are spawned import it first
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)


class SchemeBase:
    """See `WeightSyncScheme`."""

    private: ClassVar[bool]

    def __init__(self, strategy: Strategy, *, sync: bool) -> None:
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {STRATEGIES}, got {strategy!r}")
        self.strategy: Strategy = strategy
        self.sync = sync
        self.model_id: str | None = None
        self._context: weakref.ref[Any] | None = None
        self._sides: Mapping[int, Side] = {}

    @property
    def context(self) -> Any | None:
        """What models are looked up in, a collector for instance; held weakly."""
        return None if self._context is None else self._context()

    @context.setter
    def context(self, context: Any | None) -> None:
        self._context = None if context is None else weakref.ref(context)

    def with_sides(self, sides: Mapping[int, Side]) -> Self:
        """Return a scheme as this one was made, for the workers that these are the sides of."""
        scheme: Self = arrived(type(self), self._options(), self.model_id, sides)
        return scheme

    def _leave_sender(self) -> None:
        """In a forked worker, drop what was inherited of the sender, but for the sides.

        Raises:
            RuntimeError: this is the sender itself.
        """

    def _options(self) -> dict[str, Any]:
        return {"strategy": self.strategy, "sync": self.sync}


def arrived(
    kind: type[Any], options: dict[str, Any], model_id: str | None, sides: Mapping[int, Side]
) -> Any:
    """Return a scheme for workers, which may have travelled to their process."""
    scheme = kind(**options)
    scheme.model_id = model_id
    scheme._sides = sides  # noqa: SLF001 - a constructor that users have no use for
    return scheme
