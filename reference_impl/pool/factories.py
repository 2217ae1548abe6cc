"""Makers of envs, in a form that reaches a worker however it is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

    def __reduce__(self) -> tuple[Any, ...]:
        # Lambdas and local functions are what env makers are made of; plain pickle refuses them. Not
        # `__getstate__`: before Python 3.11.4 a frozen dataclass with slots puts its own in its place.
        return _unpacked, (cloudpickle.dumps((self.maker, self.kwargs)),)


def _unpacked(packed: bytes) -> Factory:
    maker, kwargs = cloudpickle.loads(packed)
    return Factory(maker=maker, kwargs=kwargs)
