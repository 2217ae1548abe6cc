"""An env and what it is wrapped in: who has an attribute, and which transforms there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torchrl.envs import Compose, TransformedEnv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchrl.envs import Transform

_INWARDS: Final = ("base_env", "_env", "env")  # what wrappers of torchrl and gymnasium call it
_PARTS: Final = ("_parameters", "_buffers", "_modules")  # where a module keeps some attributes


def layers(env: Any) -> Iterator[Any]:
    """Yield the env and what it wraps, the outermost first."""
    seen: set[int] = set()
    while env is not None and id(env) not in seen:
        seen.add(id(env))
        yield env
        env = next((found for name in _INWARDS if (found := _own(env, name)) is not None), None)


def holder(env: Any, name: str) -> Any:
    """Return the outermost layer that has the attribute itself.

    Wrappers pass on what they do not have: to set something on them would leave the env as it is.

    Raises:
        AttributeError: none has it; names the layers that were looked at.
    """
    found = list(layers(env))
    for layer in found:
        if _has(layer, name):
            return layer
    if hasattr(found[-1], name):  # it computes its attributes
        return found[-1]
    looked_at = ", ".join(type(layer).__name__ for layer in found)
    raise AttributeError(f"no {name!r} in any of {looked_at}")


def transforms(env: Any) -> list[Transform]:
    """Return all transforms around an env, also those in a `Compose`, the innermost first."""
    found: list[Transform] = []
    for layer in layers(env):
        if isinstance(layer, TransformedEnv):
            found = [*_flat(layer.transform), *found]
    return found


def _flat(transform: Transform) -> Iterator[Transform]:
    if isinstance(transform, Compose):
        for one in transform.transforms:
            yield from _flat(one)
    else:
        yield transform


def _own(layer: Any, name: str) -> Any:
    instance = getattr(layer, "__dict__", {})
    if name in instance:
        return instance[name]
    if isinstance(layer, torch.nn.Module):
        return instance["_modules"].get(name)
    return None


def _has(layer: Any, name: str) -> bool:
    instance = getattr(layer, "__dict__", {})
    if name in instance or hasattr(type(layer), name):
        return True
    return any(name in (instance.get(part) or ()) for part in _PARTS)
