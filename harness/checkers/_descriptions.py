"""What `compare` says of a call: leaves by the path of their keys, and how two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.model.history import History, Operation
from harness.model.probe import FIELDS

Leaf = Mapping[str, Any]
FORM = ("kind", "shape", "dtype", "device")
TOLD_MAX = 6  # differences of one call in one finding; the others only count
_OBSERVATION = "observation"
# The process that an env lives in, and what is computed from it: they differ between twins.
_OWN = frozenset(FIELDS.index(name) for name in ("incarnation", "checksum"))


def comparisons(history: History) -> Iterator[Operation]:
    """The calls of entry points, in order, whatever became of them."""
    return (op for op in history.operations if op.op == "compare")


def called(operation: Operation) -> str:
    """How a finding speaks of a call."""
    return f"{operation.arguments['entry']} (request {operation.id})"


def answering(operation: Operation) -> list[int]:
    """The envs that have a row each in the result: a reset of some returns all."""
    if operation.arguments["entry"] == "reset":
        return list(range(len(operation.arguments["mask"])))
    return [env for env, is_asked in enumerate(operation.arguments["mask"]) if is_asked]


def first_of_rows(values: Any) -> list[int] | None:
    """The env of each row; None if a row does not say one and the same throughout."""
    rows = [_flat(row) for row in values] if isinstance(values, list) else []
    if not rows or any(len(set(row)) != 1 or not isinstance(row[0], int) for row in rows):
        return None
    return [row[0] for row in rows]


def _flat(values: Any) -> list[Any]:
    return [e for each in values for e in _flat(each)] if isinstance(values, list) else [values]


def row_order(found: Mapping[str, Leaf], own: set[str], envs: Sequence[int]) -> list[int] | None:
    """Which of these envs each row is, if the pool says so in an entry of its own; results may come in any order."""
    said = next((first_of_rows(found[key].get("values")) for key in own if key in found), None)
    if said is None or sorted(said) != list(envs):
        return None
    return [envs.index(env) for env in said]


def summary(differences: Sequence[str]) -> str:
    """Differences in one text."""
    more = len(differences) - TOLD_MAX
    return "; ".join(differences[:TOLD_MAX]) + (f"; and {more} more" if more > 0 else "")


def form_differs(key: str, found: Leaf, wanted: Leaf) -> str | None:
    """In what a leaf has another form than is wanted, if so."""
    for name in FORM:
        if found[name] != wanted[name]:
            return f"{key} has {name} {_said(found[name])}, not {_said(wanted[name])}"
    return None


def values_differ(
    key: str, found: Leaf, wanted: Leaf, order: Sequence[int] | None = None
) -> str | None:
    """Whether a leaf has other values; `order`: which row of what is wanted each row found is."""
    mine, theirs = found.get("values"), wanted.get("values")
    if mine is None or theirs is None:
        return None
    if order is not None and isinstance(theirs, list):
        theirs = [theirs[row] for row in order]
    own = _OWN if key.rpartition("/")[2] == _OBSERVATION else frozenset()
    at = _first_difference(mine, theirs, (), own)
    if at is None:
        return None
    place, mine, theirs = at
    where = "".join(f"[{index}]" for index in place)
    return f"{key}{where} is {_short(mine)}, not {_short(theirs)}"


def _first_difference(
    mine: Any, theirs: Any, place: tuple[int, ...], own: frozenset[int]
) -> tuple[tuple[int, ...], Any, Any] | None:
    """Where two nested lists differ first, and in what; `own`: entries of the innermost ones that may."""
    lists = isinstance(mine, list) and isinstance(theirs, list)
    if not lists or len(mine) != len(theirs):
        return None if _same(mine, theirs) else (place, mine, theirs)
    for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        if index in own and not isinstance(one, list):
            continue
        found = _first_difference(one, other, (*place, index), own)
        if found is not None:
            return found
    return None


def _same(mine: Any, theirs: Any) -> bool:
    """Equal, or both no number."""
    return bool(mine == theirs or (mine != mine and theirs != theirs))


def _said(value: Any) -> str:
    return "none" if value is None else str(value)


def _short(values: Any) -> str:
    text = str(values)
    return text if len(text) <= 80 else f"{text[:77]}..."
