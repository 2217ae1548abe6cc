"""Makers of envs, in a form that reaches a worker however it is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import cloudpickle  # type: ignore[import-untyped]  # it ships no types
from torchrl.envs import EnvBase

from reference_impl.pool.gym_envs import GymnasiumEnv, looks_like_gymnasium

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory:
    """A maker with its keyword arguments, or an env that exists already.

    A gymnasium env is as good as an `EnvBase`: it is wrapped into one.
    """

    maker: Callable[..., Any] | EnvBase
    kwargs: dict[str, Any]

    def make(self) -> EnvBase:
        """Return the env.

        Raises:
            TypeError: the maker returned something else.
            Exception: whatever the maker raises.
        """
        env = self.maker if isinstance(self.maker, EnvBase) else self.maker(**self.kwargs)
        if isinstance(env, EnvBase):
            return env
        if looks_like_gymnasium(env):
            return GymnasiumEnv(env)
        made = type(env).__name__
        raise TypeError(f"an env maker must return an EnvBase or a gymnasium env, got {made}")

    def __getstate__(self) -> bytes:
        # Lambdas and local functions are what env makers are made of; plain pickle refuses them.
        return cast("bytes", cloudpickle.dumps((self.maker, self.kwargs)))

    def __setstate__(self, state: bytes) -> None:
        maker, kwargs = cloudpickle.loads(state)
        object.__setattr__(self, "maker", maker)
        object.__setattr__(self, "kwargs", kwargs)
