"""What a worker is asked beside resets and steps: methods, attributes, parameters, state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import cloudpickle  # type: ignore[import-untyped]  # it ships no types

from reference_impl.pool.env_params import EnvParams
from reference_impl.pool.env_steps import Episodes
from reference_impl.pool.layers import holder
from reference_impl.pool.messages import Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchrl.envs import EnvBase


def packed(what: Any) -> bytes:
    """Return a copy that travels: the same in threads, so that nobody shares it, as in processes."""
    return cast("bytes", cloudpickle.dumps(what))


def unpacked(data: bytes) -> Any:
    """Return what was packed."""
    return cloudpickle.loads(data)


class Controls:
    """Carries them out on one env."""

    def __init__(self, env: EnvBase, make: Callable[[], EnvBase]) -> None:
        self.env = env
        self.params = EnvParams(env, make)
        self.episodes = Episodes(env)

    def carry_out(self, operation: Operation, data: bytes) -> bytes:
        """Do what is asked, with packed arguments; return the packed result.

        Raises:
            AttributeError: no layer of the env has what is named.
            Exception: whatever the env raises, or packing the result does.
        """
        return packed(self._done(operation, unpacked(data)))

    def _done(self, operation: Operation, given: Any) -> Any:
        env = self.env
        match operation:
            case Operation.CALL:
                found = getattr(holder(env, given["name"]), given["name"])
                return found(*given["args"], **given["kwargs"]) if callable(found) else found
            case Operation.GET_ATTR:
                return getattr(holder(env, given["name"]), given["name"])
            case Operation.SET_ATTR:
                return setattr(holder(env, given["name"]), given["name"], given["value"])
            case Operation.UPDATE_ENV_PARAMS:
                return self.params.update(given)
            case Operation.ENV_PARAMS_VERSIONS:
                return self.params.version
            case Operation.STATE_DICT:
                return env.state_dict()
            case Operation.LOAD_STATE_DICT:
                env.load_state_dict(given)
                return None
            case _:
                raise AssertionError(f"{operation} is no control")

    def reset(self, reset: Callable[..., Any], td: Any, kwargs: dict[str, Any]) -> Any:
        """Reset the env by its own method, after the switches that waited for it.

        Raises:
            TypeError: the env does not take these keyword arguments; it names what does.
        """
        self.params.before_reset()
        try:
            return reset(td, **kwargs)
        except TypeError as error:
            if not kwargs:
                raise
            raise TypeError(
                f"{error} (keyword arguments of reset go to the env's own reset: to change its "
                f"parameters {', '.join(kwargs)}, call update_env_params)"
            ) from error
