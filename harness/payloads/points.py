"""Sequence points inside a backend's own code: whoever comes to one asks the gate, as a probe does."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from harness.payloads.link import Link
from harness.ports.storage import EDGES, POINTS, Hold, Point


def problems(holds: Mapping[Point, Hold], worker_ops: Collection[str]) -> Iterator[str]:
    """What is wrong with holds, as far as it can be seen before anybody comes to them.

    Args:
        holds: where points are.
        worker_ops: operations at which faults can be placed: the points among them need a hold each.
    """
    for op, hold in holds.items():
        if op not in POINTS:
            yield f"holds: no such point {op!r}, known are {', '.join(sorted(POINTS))}"
        elif op not in worker_ops:
            yield f"holds.{op}: worker_ops does not name it, so that no fault can be placed there"
        yield from (f"holds.{op}.{wrong}" for wrong in _problems_of(hold))
    for point in sorted(POINTS & set(worker_ops) - set(holds)):
        yield f"holds: worker_ops names {point!r}, and nothing says where it is"


def _problems_of(hold: Hold) -> Iterator[str]:
    if hold.edge not in EDGES:
        yield f"edge: must be one of {', '.join(map(repr, EDGES))}, got {hold.edge!r}"
    if hold.nth < 1:
        yield f"nth: the first is 1, got {hold.nth}"
    try:
        owner, name = _place_of(hold)
        function = getattr(owner, name)
    except (ImportError, AttributeError) as error:
        yield f"target: {error}"
        return
    if not callable(function):
        yield f"target: {hold.target} cannot be called"
        return
    try:
        known = list(inspect.signature(function).parameters.values())
    except ValueError:
        return  # written in C: it does not say
    named = [each.name for each in known if each.kind in _BY_PLACE]
    takes_any = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in known)
    if hold.edge == "within" and not takes_any and not 0 <= hold.argument < len(named):
        yield f"argument: {hold.target} has {', '.join(named)}, and no number {hold.argument}"


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _place_of(hold: Hold) -> tuple[Any, str]:
    """What has the function, and its name there."""
    module, _, path = hold.target.partition(":")
    *owners, name = path.split(".")
    return functools.reduce(getattr, owners, importlib.import_module(module)), name


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
        owner, name = _place_of(hold)
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
                items = given[hold.argument] if hold.argument < len(given) else None
                if not isinstance(items, Sequence):
                    what = f"argument {hold.argument} of {hold.target} is {type(items).__name__}"
                    self._link.tell_broken(self._role, f"holds.{op}: {what}, and no sequence")
                    return function(*args, **kwargs)
                given[hold.argument] = _Halved(items, self._link, self._role, op)
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

    def __getitem__(self, place: Any) -> Any:
        """Nobody goes through it this way: the point is not passed."""
        return self._items[place]

    def __iter__(self) -> Iterator[Any]:
        half = (len(self._items) + 1) // 2
        yield from self._items[:half]
        self._pass()
        yield from self._items[half:]
