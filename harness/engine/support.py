"""Whether a backend claims what a row needs: what it does not declare is UNSUPPORTED, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_type_hints

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
        at = fault.placement
        if (
            at is not None
            and at.role != "driver"
            and at.op not in declared.get("worker_ops", at.op)
        ):
            return f"the backend's workers pass no {at.op}"
        reason = fault.lacking or fault.unsupported(request.setup, SimpleNamespace(**declared))
        if reason is not None:
            return reason
    return None


def unknown_words(component: Component, declared: Mapping[str, Any]) -> str | None:
    """What a backend declares that the port has no word for: it would stay UNSUPPORTED for ever."""
    ours: frozenset[str] = getattr(component.setup, "OURS", frozenset())
    types = get_type_hints(component.setup)
    hints = {f.name: types[f.name] for f in fields(component.setup) if f.name not in ours}
    for key, values in declared.get("setup", {}).items():
        if key not in hints:
            return f"capabilities.setup: no such key {key!r}, known are {', '.join(hints)}"
        wrong = next(filter(None, (_unknown_word(hints[key], value) for value in values)), None)
        if wrong is not None:
            return f"capabilities.setup.{key}: {wrong}"
    for key, hint in get_type_hints(component.capabilities).items():
        if key not in ("setup", "verbs") and key in declared:
            wrong = _unknown_word(hint, declared[key])
            if wrong is not None:
                return f"capabilities.{key}: {wrong}"
    return None


def _unknown_word(hint: Any, value: Any) -> str | None:
    """What of a value is none of the words that its type has, at any depth."""
    inner = get_args(hint)
    if get_origin(hint) is Literal:
        known = ", ".join(map(repr, inner))
        return None if value in inner else f"must be one of {known}, got {value!r}"
    if isinstance(value, Mapping) and len(inner) == 2:
        found = (_unknown_word(inner[0], k) or _unknown_word(inner[1], v) for k, v in value.items())
    elif isinstance(value, list | set | frozenset) and inner:
        found = (_unknown_word(inner[0], each) for each in value)
    else:
        return None
    return next((wrong for wrong in found if wrong is not None), None)


def _setup(
    setup: Mapping[str, Any], component: Component, accepted: Mapping[str, Any]
) -> str | None:
    """Keys with a choice of words; sizes and deadlines are free."""
    ours: frozenset[str] = getattr(component.setup, "OURS", frozenset())
    hints = get_type_hints(component.setup)
    for field in fields(component.setup):
        value = setup[field.name]
        if field.name in ours or get_origin(hints[field.name]) is not Literal:
            continue
        if value not in accepted.get(field.name, (field.default,)):
            return f"the backend declares no {field.name}={value}"
    return None
