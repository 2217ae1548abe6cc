"""Finds things by `module:attr`: the engine imports no adapter by name."""

from __future__ import annotations

import importlib
from typing import Any

from harness.ports.backend import Backend


def resolve(reference: str) -> Any:
    """Import `module:attr`, or `module:Class.method`.

    Raises:
        ImportError: the module cannot be imported, or has no such attribute.
    """
    module, _, path = reference.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in path.split("."):
        try:
            found = getattr(found, attribute)
        except AttributeError:
            raise ImportError(f"module {module!r} has no attribute {path!r}") from None
    return found


def backend_of(reference: str) -> Backend:
    """Import a backend.

    Raises:
        ImportError: as `resolve`.
        TypeError: what is there is no `Backend`.
    """
    found = resolve(reference)
    if not isinstance(found, Backend):
        raise TypeError(f"{reference} is a {type(found).__name__}, not a harness Backend")
    return found
