"""The tensors of a module by name, found again at the cost of a glance while the module is as it was."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

from reference_impl.weights.packing import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterator

# A class with one of these of its own decides for itself what it saves, or how it loads.
_TELLING: Final = (
    "state_dict",
    "_save_to_state_dict",
    "get_extra_state",
    "load_state_dict",
    "_load_from_state_dict",
    "set_extra_state",
    "named_parameters",
    "named_buffers",
)
_HOOKS: Final = (
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Plan:
    """The tensors of one module, as it is now.

    Attributes:
        plain: whether the module saves and loads as any `nn.Module`, tensor by tensor; only then
            are the others filled.
        tensors: by name, as in its `state_dict`, then the non-persistent buffers; the same dictionary
            as long as the module has the same tensors.
        transient: names of those that its `state_dict` leaves out.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._seen: tuple[list[Any], list[Any]] | None = None
        self.plain = False
        self.tensors: dict[str, torch.Tensor] = {}
        self.transient: frozenset[str] = frozenset()

    def refresh(self) -> bool:
        """Look at the module; return whether anything is another than at the last look."""
        found = _glance(self._module)
        before = self._seen
        if before is not None and before[0] == found[0] and _same(before[1], found[1]):
            return False
        self._seen = found
        self.plain = all(_is_plain(m) for m in self._module.modules())
        named = list(_named(self._module, "")) if self.plain else []
        named.sort(key=lambda each: each[2])  # stable: saved ones keep their order
        self.tensors = {name: tensor for name, tensor, _ in named}
        self.transient = frozenset(name for name, _, transient in named if transient)
        if any(tensor.layout is not torch.strided for tensor in self.tensors.values()):
            self.plain = False
        return True


def _same(before: list[Any], now: list[Any]) -> bool:
    return len(before) == len(now) and all(map(is_, before, now))


def _glance(module: nn.Module) -> tuple[list[Any], list[Any]]:
    """Names of everything below a module, and the tensors: what changes if the module does."""
    names: list[Any] = []
    tensors: list[Any] = []
    stack = [module]
    while stack:
        parts = stack.pop().__dict__
        parameters, buffers, children = parts["_parameters"], parts["_buffers"], parts["_modules"]
        names.extend(parameters)
        tensors.extend(parameters.values())
        if buffers:
            names.extend(buffers)
            tensors.extend(buffers.values())
        if children:
            names.extend(children)
            stack.extend(child for child in children.values() if child is not None)
        if (
            parts["_state_dict_hooks"]
            or parts["_load_state_dict_pre_hooks"]
            or parts["_load_state_dict_post_hooks"]
            or parts["_state_dict_pre_hooks"]
        ):
            names.extend(hooks for hooks in _HOOKS if parts[hooks])
    return names, tensors


def _named(module: nn.Module, prefix: str) -> Iterator[tuple[str, torch.Tensor, bool]]:
    """Name, tensor, and whether a `state_dict` leaves it out; a shared module comes under each of its names."""
    parts = module.__dict__
    left_out = parts["_non_persistent_buffers_set"]
    for kind in ("_parameters", "_buffers"):
        for name, tensor in parts[kind].items():
            if tensor is not None:
                yield prefix + name, tensor, kind == "_buffers" and name in left_out
    for name, child in parts["_modules"].items():
        if child is not None:
            yield from _named(child, f"{prefix}{name}{SEPARATOR}")


def _is_plain(module: nn.Module) -> bool:
    parts = module.__dict__
    return _is_plain_class(type(module)) and not any(
        parts[name] if name in _HOOKS else name in parts for name in (*_HOOKS, *_TELLING)
    )


def _is_plain_class(cls: type[nn.Module]) -> bool:
    own = all(getattr(cls, name) is getattr(nn.Module, name) for name in _TELLING)
    return own and not isinstance(getattr(cls, "_parameters", None), property)
