"""Strategies that follow from a dataclass alone: its literals are choices, its counts are small."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

# Fields that are numbers say nothing of their range; those that are not here keep their default.
NUMBERS: Mapping[str, SearchStrategy[int]] = {
    "times": st.integers(1, 3),
    "num_envs": st.integers(1, 3),
    "horizon": st.integers(2, 6),
}


def tagged(union: Any, tag: str) -> dict[str, type[Any]]:
    """The members of a union of dataclasses, by the default of their field `tag`."""
    return {
        str(next(f.default for f in fields(member) if f.name == tag)): member
        for member in typing.get_args(union)
    }


def choices(cls: type[Any]) -> Mapping[str, tuple[Any, ...]]:
    """The values of each literal field with more than one, its default first: the simplest."""
    hints = typing.get_type_hints(cls)
    found = {}
    for field in fields(cls):
        values = typing.get_args(hints[field.name])
        if typing.get_origin(hints[field.name]) is Literal and len(values) > 1:
            simplest = values[0] if field.default is MISSING else field.default
            found[field.name] = (simplest, *(value for value in values if value != simplest))
    return found


def variants(cls: type[T], **given: Any) -> Iterator[T]:
    """Every combination of the literal fields, with `given` for others."""
    open_choices = {name: values for name, values in choices(cls).items() if name not in given}
    for values in itertools.product(*open_choices.values()):
        yield cls(**dict(zip(open_choices, values, strict=True)), **given)


def drawn(cls: type[T], **given: SearchStrategy[Any]) -> SearchStrategy[T]:
    """Instances of a dataclass.

    Args:
        cls: its literals and the fields in `NUMBERS` are drawn, the others keep their default.
        given: strategies of fields for which something else holds.
    """
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type] # verbs and setups are dataclasses
    literals = {name: st.sampled_from(values) for name, values in choices(cls).items()}
    numbers = {name: strategy for name, strategy in NUMBERS.items() if name in names}
    return st.builds(cls, **{**literals, **numbers, **given})


def subsets(names: Iterable[str], left_out_max: int) -> SearchStrategy[frozenset[str]]:
    """Which of these exist at all, with `left_out_max` missing at most; simplest is that all do."""
    every = frozenset(names)
    if not every:
        return st.just(every)
    left_out = st.frozensets(st.sampled_from(sorted(every)), max_size=left_out_max)
    return left_out.map(every.difference)
