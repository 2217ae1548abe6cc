"""Whether a backend claims what a row needs: what it does not declare is UNSUPPORTED, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

from harness.engine.components import Component
from harness.engine.request import CellRequest


def unsupported(
    request: CellRequest, component: Component, capabilities: Mapping[str, Any]
) -> str | None:
    """The first thing that the row needs and the backend does not declare; None if it can run."""
    declared = capabilities.get(component.name)
    if declared is None:
        return f"the backend has no {component.name}"
    able = component.always | set(declared.get("verbs", ()))
    for verb in request.verbs():
        needed = getattr(verb, "capability", verb.do)
        if needed not in able:
            return f"the backend declares no {needed}"
    setup = _setup(request.setup, component, declared.get("setup", {}))
    if setup is not None:
        return setup
    for fault in request.faults():
        reason = fault.lacking or fault.unsupported(request.setup, SimpleNamespace(**declared))
        if reason is not None:
            return reason
    return None


def unknown_words(component: Component, declared: Mapping[str, Any]) -> str | None:
    """What a backend declares that the port has no word for: it would stay UNSUPPORTED for ever."""
    hints = get_type_hints(component.setup)
    for key, values in declared.get("setup", {}).items():
        if key not in hints:
            return f"capabilities.setup: no such key {key!r}, known are {', '.join(hints)}"
        known = get_args(hints[key])
        for value in values:
            if known and value not in known:
                words = ", ".join(map(repr, known))
                return f"capabilities.setup.{key}: must be one of {words}, got {value!r}"
    return None


def _setup(
    setup: Mapping[str, Any], component: Component, accepted: Mapping[str, Any]
) -> str | None:
    """Keys with a choice of words; sizes and deadlines are free."""
    ours: frozenset[str] = getattr(component.setup, "OURS", frozenset())
    for field in fields(component.setup):
        value = setup[field.name]
        if field.name in ours:
            continue
        if isinstance(value, str) and value not in accepted.get(field.name, (field.default,)):
            return f"the backend declares no {field.name}={value}"
    return None
