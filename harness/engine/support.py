"""Whether a backend claims what a row needs, and the machine has it: else the row is UNSUPPORTED, with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from harness.engine.components import COMPONENTS, Component
from harness.engine.request import CellRequest
from harness.engine.usage import shown

_NAME = re.compile(r"\w+", re.ASCII)  # its list of known outcomes is called so, and no - is in it
_VERSION = re.compile(r"\w[\w.+!-]*", re.ASCII)


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
        reason = fault.unsupported(request.setup, SimpleNamespace(**declared))
        if reason is not None:
            return reason
    return None


def lacking(request: CellRequest) -> str | None:
    """The first thing that the row needs and this machine does not have, whatever the backend; None if it can run."""
    return next((fault.lacking for fault in request.faults() if fault.lacking), None)


def wrong_backend(said: Mapping[str, Any]) -> str | None:
    """What a backend says of itself that can be in no cell's id, or that leaves nothing to run."""
    name, version = said["name"], said["version"]
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return f"name: letters, digits and _, got {shown(name)}"
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        return f"version(): a word like 0.15, got {shown(version)}"
    if not said["capabilities"]:
        return f"has no {' and no '.join(COMPONENTS)}: there is nothing to run"
    return None


def unknown_words(component: Component, declared: Mapping[str, Any]) -> str | None:
    """What a backend declares that the port has no word for: it would stay UNSUPPORTED for ever."""
    for key, hint in get_type_hints(component.capabilities).items():
        wrong = None if key == "setup" else _no_set(hint, declared.get(key))
        if wrong is not None:
            return f"capabilities.{key}: {wrong}"
    ours: frozenset[str] = getattr(component.setup, "OURS", frozenset())
    types = get_type_hints(component.setup)
    hints = {f.name: types[f.name] for f in fields(component.setup) if f.name not in ours}
    for key, values in declared.get("setup", {}).items():
        if not isinstance(values, list):
            return f"capabilities.setup.{key}: {_set_wanted(values)}"
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


def _no_set(hint: Any, value: Any) -> str | None:
    """What is wrong with a value whose type is a set, or a mapping to sets."""
    inner = get_args(hint)
    if get_origin(hint) is frozenset and value is not None and not isinstance(value, list):
        return _set_wanted(value)
    if get_origin(hint) is Mapping and value is not None:
        if not isinstance(value, Mapping):
            return f"wants a mapping, got {shown(value)}"
        return next(filter(None, (_no_set(inner[1], each) for each in value.values())), None)
    return None


def _set_wanted(value: Any) -> str:
    return f"wants a set, as frozenset({{{value!r}}}), got {shown(value)}"


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
