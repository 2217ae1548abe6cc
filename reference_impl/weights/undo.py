"""What a model was before it loaded weights its own way, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from reference_impl.core import wire

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class _Original:
    module: nn.Module
    name: str
    tensor: torch.Tensor
    memory: torch.Tensor
    values: torch.Tensor


class Undo:
    """Copies of everything that a load may change."""

    def __init__(self, model: nn.Module) -> None:
        self._originals = [
            _Original(
                module=module,
                name=name,
                tensor=tensor,
                memory=tensor.detach(),
                values=tensor.detach().clone(),
            )
            for module in model.modules()
            for name, tensor in _own_tensors(module)
        ]
        self._extras = [
            (module, wire.dumps(module.get_extra_state()))
            for module in model.modules()
            if type(module).get_extra_state is not nn.Module.get_extra_state
        ]

    def undo(self) -> None:
        """Give each module its own tensors back, each tensor its own memory, and the memory its old values.

        Raises:
            Exception: whatever a module raises that does not take them back.
        """
        for original in self._originals:
            original.tensor.data = original.memory
            original.memory.copy_(original.values)
            if getattr(original.module, original.name, None) is not original.tensor:
                setattr(original.module, original.name, original.tensor)
        for module, state in self._extras:
            module.set_extra_state(wire.loads(state))


def _own_tensors(module: nn.Module) -> Iterator[tuple[str, Any]]:
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)
