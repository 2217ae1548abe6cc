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
from harness.ports.weights import WeightsCapabilities

FORKING = replace(
    WEIGHTS_CAPABILITIES, setup={**WEIGHTS_CAPABILITIES.setup, "start_method": frozenset({"fork"})}
)


def planted(
    name: str,
    *places: tuple[ModuleType, str, object],
    schemes: Callable[[type[Any]], Callable[..., Any]] | None = None,
    sync: type[SchemeWeights] = SchemeWeights,
    capabilities: WeightsCapabilities = FORKING,
) -> Backend:
    """The reference in which modules have something else under a name.

    Args:
        name: of the bug.
        places: module, name, and what is there instead.
        schemes: makes wrong ones of the schemes, if they are wrong themselves.
        sync: the trainer with its workers.
        capabilities: what it declares.
    """

    def making(kind: type[Any]) -> Callable[..., Any]:
        make = schemes(kind) if schemes else kind

        def made(**options: Any) -> Any:
            for module, attribute, wrong in places:
                setattr(module, attribute, wrong)
            return make(**options)

        return made

    found = {word: making(kind) for word, kind in SCHEMES.items()}
    port = weights_port_of(found, capabilities, sync)
    return replace(
        backend, name=name, version=lambda: "planted", pool=None, weights=port, storage=None
    )


def replaced(name: str, module: ModuleType, attribute: str, wrong: object) -> Backend:
    """The reference in which a module has something else under one name."""
    return planted(name, (module, attribute, wrong))


def tensors_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """A model's own tensors, by name."""
    named = (*model.named_parameters(), *model.named_buffers())
    return {name: tensor.detach() for name, tensor in named}
