"""Sequence points inside a backend's own code: whoever comes to one asks the gate, as a probe does."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.payloads.link import Link
from harness.ports.storage import Hold, Point


class Points:
    """The points of one process.

    Args:
        link: to the gate.
        role: whose they are.
        holds: where they are, by name.
    """

    def __init__(self, link: Link, role: str, holds: Mapping[Point, Hold]) -> None:
        self._link = link
        self._role = role
        self._counts: dict[str, int] = {}
        for op, hold in holds.items():
            if op in link.gated:  # what nobody asks about is left as it is
                self._install(op, hold)

    def begin(self) -> None:
        """A call of the port begins: points are counted anew."""
        self._counts.clear()

    def _install(self, op: str, hold: Hold) -> None:
        module, _, path = hold.target.partition(":")
        *owners, name = path.split(".")
        owner = functools.reduce(getattr, owners, importlib.import_module(module))
        setattr(owner, name, self._wrapped(getattr(owner, name), op, hold))

    def _wrapped(self, function: Callable[..., Any], op: str, hold: Hold) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self._counts[op] = self._counts.get(op, 0) + 1
            if self._counts[op] != hold.nth:
                return function(*args, **kwargs)
            if hold.edge == "before":
                self._link.pass_gate(self._role, op)
            if hold.edge == "within":
                given = list(args)
                given[hold.argument] = _Halved(given[hold.argument], self._link, self._role, op)
                return function(*given, **kwargs)
            result = function(*args, **kwargs)
            if hold.edge == "after":
                self._link.pass_gate(self._role, op)
            return result

        return wrapper


class _Halved:
    """A sequence; whoever goes through it passes the gate once half of it is taken."""

    def __init__(self, items: Sequence[Any], link: Link, role: str, op: str) -> None:
        self._items = items
        self._pass = functools.partial(link.pass_gate, role, op)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        half = (len(self._items) + 1) // 2
        yield from self._items[:half]
        self._pass()
        yield from self._items[half:]
