"""What a comparison came to, in words: what differs from the twin, key by key, and how much is equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.checkers._descriptions import (
    FORM,
    Leaf,
    answering,
    form_differs,
    row_order,
    summary,
    values_differ,
)
from harness.model.history import Operation


def told(operation: Operation) -> str | None:
    """How the result of a call differs from its twin's, and what it wrote into what it was given.

    None for what is no comparison that returned, or says what no driver journals.
    """
    returned, expected = _leaves(operation.result, "returned"), operation.arguments.get("expected")
    wanted = _leaves({"expected": expected}, "expected")
    if operation.op != "compare" or returned is None or wanted is None:
        return None
    try:
        order = row_order(returned, set(returned) - set(wanted), answering(operation))
    except (KeyError, TypeError, ValueError):
        order = None
    differences = list(_differences(returned, wanted, order))
    alone = sorted(set(returned) - set(wanted))
    equal = len(returned) - len(differences) - len(alone)
    parts = (
        [f"{len(differences)} differ from the twin: {summary(differences)}"] if differences else []
    )
    missing = [key for key in wanted if key not in returned]
    parts += [f"missing: {', '.join(missing)}"] if missing else []
    parts += [f"the twin has no {', '.join(alone)}"] if alone else []
    given, after = _leaves(operation.result, "given"), _leaves(operation.result, "given_after")
    if given is not None and after is not None:
        written = [
            *_differences(after, given, None),
            *(f"{key} is new" for key in after if key not in given),
        ]
        parts += [f"written into the input: {summary(written)}"] if written else []
    parts.append(f"{equal} of {len(returned)} keys are equal to the twin's")
    return "; ".join(parts)


def _differences(
    found: Mapping[str, Leaf], wanted: Mapping[str, Leaf], order: list[int] | None
) -> Iterator[str]:
    for key in (key for key in wanted if key in found):
        try:
            text = form_differs(key, found[key], wanted[key])
            text = text or values_differ(key, found[key], wanted[key], order)
        except (TypeError, IndexError):
            text = f"{key} cannot be compared"
        if text is not None:
            yield text


def _leaves(said: Mapping[str, Any], key: str) -> Mapping[str, Leaf] | None:
    """Leaves by their path, if that is what is there."""
    found = said.get(key)
    if not isinstance(found, dict):
        return None
    sound = all(isinstance(leaf, dict) and leaf.keys() >= set(FORM) for leaf in found.values())
    return found if sound else None
