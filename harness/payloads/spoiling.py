"""Replies that are not what an env has promised."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.model.gate import ReplyDefect
from harness.payloads.forms import Tree

WIDER = np.dtype("float64")  # than any leaf: an honest conversion back loses nothing


class UnpicklableError(TypeError):
    """What pickling an `Unpicklable` raises."""


class Unpicklable:
    """Something that an env says beside its reply, and that no channel between processes can carry.

    Attributes:
        marker: what pickling raises.
        struck: called when it is pickled: a backend that drops it is not struck.
    """

    def __init__(self, marker: str, struck: Callable[[], None]) -> None:
        self._marker = marker
        self._struck = struck

    def __reduce__(self) -> typing.NoReturn:
        """Refuse."""
        self._struck()
        raise UnpicklableError(self._marker)


def spoil(
    tree: Tree, defect: ReplyDefect, marker: str, struck: Callable[[], None]
) -> tuple[Tree, dict[str, Any]]:
    """The same observation with one thing wrong, and what is said beside it.

    Args:
        tree: an observation; of its leaves the first is spoilt, of its keys the last.
        defect: an entry too many, numbers of a wider type, a key that is missing, or an entry beside
            the observation that cannot be pickled.
        marker: what pickling raises.
        struck: called once the reply is spoilt; with an entry that cannot be pickled, when it is pickled.
    """
    if defect == "unpicklable":
        return tree, {"unpicklable": Unpicklable(marker, struck)}
    struck()
    match defect:
        case "missing_key":
            assert isinstance(tree, Mapping)  # the fault strikes no other payload
            return dict(list(tree.items())[:-1]), {}
        case "shape":
            return _first_leaf(tree, lambda leaf: np.append(leaf, leaf.reshape(-1)[:1])), {}
        case "dtype":
            return _first_leaf(tree, lambda leaf: leaf.astype(WIDER)), {}
    typing.assert_never(defect)


def _first_leaf(tree: Tree, change: typing.Callable[[Any], Any]) -> Tree:
    if not isinstance(tree, Mapping):
        changed: Tree = change(tree)
        return changed
    (key, first), *others = tree.items()
    return {key: _first_leaf(first, change), **dict(others)}
