"""What wrong variants of the reference's weight sync are made with: a class is replaced, in the process of the cell.

They fork only: a forked worker inherits the replacement, a spawned one would not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch import nn

from harness.adapters._reference_weights import (
    SCHEMES,
    WEIGHTS_CAPABILITIES,
    SchemeWeights,
    weights_port_of,
)
from harness.adapters.reference import backend
from harness.ports.backend import Backend

_FORKING = replace(
    WEIGHTS_CAPABILITIES, setup={**WEIGHTS_CAPABILITIES.setup, "start_method": frozenset({"fork"})}
)


def planted(
    name: str,
    *places: tuple[ModuleType, str, object],
    schemes: Callable[[], Any] | None = None,
    sync: type[SchemeWeights] = SchemeWeights,
) -> Backend:
    """The reference in which modules have something else under a name.

    Args:
        name: of the bug.
        places: module, name, and what is there instead.
        schemes: makes the schemes, if they are wrong themselves.
        sync: the trainer with its workers.
    """

    def making(make: Callable[[], Any]) -> Callable[[], Any]:
        def made() -> Any:
            for module, attribute, wrong in places:
                setattr(module, attribute, wrong)
            return make()

        return made

    found = {word: making(schemes or make) for word, make in SCHEMES.items()}
    port = weights_port_of(found, _FORKING, sync)
    return replace(backend, name=name, version=lambda: "planted", pool=None, weights=port)


def replaced(name: str, module: ModuleType, wrong: type) -> Backend:
    """The reference in which a module uses `wrong` instead of its base class."""
    return planted(name, (module, wrong.__bases__[0].__name__, wrong))


def tensors_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """A model's own tensors, by name."""
    named = (*model.named_parameters(), *model.named_buffers())
    return {name: tensor.detach() for name, tensor in named}
