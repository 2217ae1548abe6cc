"""Makers of envs, in a form that reaches a worker however it is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import cloudpickle  # type: ignore[import-untyped]  # it ships no types
from torchrl.envs import EnvBase

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory:
    """A maker with its keyword arguments, or an env that exists already."""

    maker: Callable[..., EnvBase] | EnvBase
    kwargs: dict[str, Any]

    def make(self) -> EnvBase:
        """Return the env.

        Raises:
            TypeError: the maker returned something else.
            Exception: whatever the maker raises.
        """
        env = self.maker if isinstance(self.maker, EnvBase) else self.maker(**self.kwargs)
        if not isinstance(env, EnvBase):
            raise TypeError(f"an env maker must return an EnvBase, got {type(env).__name__}")
        return env

    def __getstate__(self) -> bytes:
        # Lambdas and local functions are what env makers are made of; plain pickle refuses them.
        return cast("bytes", cloudpickle.dumps((self.maker, self.kwargs)))

    def __setstate__(self, state: bytes) -> None:
        maker, kwargs = cloudpickle.loads(state)
        object.__setattr__(self, "maker", maker)
        object.__setattr__(self, "kwargs", kwargs)
