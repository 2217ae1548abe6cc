"""Dataclasses and errors to plain JSON values, and dataclasses back, with the standard library alone.

What runs inside a cell has no pydantic; the supervisor has validated the values already, so
decoding here only has to be exact, not friendly.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def to_plain(value: object) -> Any:
    """Turn dataclasses, enums, tuples and mappings into JSON values.

    Raises:
        TypeError: a value has no plain form; the message names its type.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Sequence | set | frozenset):
        return [to_plain(item) for item in value]
    raise TypeError(f"no plain form for a value of type {type(value).__name__}: {value!r}")


def text_of(error: BaseException) -> str:
    """Its message, or that it cannot say any: the error's own code runs here."""
    try:
        return str(error)
    except Exception as failed:  # noqa: BLE001 - whoever wrote the error wrote this, too
        return f"<its text raised {type(failed).__name__}>"


@functools.cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def from_plain(cls: type[T], plain: Mapping[str, Any]) -> T:
    """Build a dataclass from its plain form; unknown keys are an error.

    Raises:
        TypeError: a key is unknown or a required one is missing.
    """
    hints = _hints(cls)  # type: ignore[arg-type] # classes are hashable
    return cls(**{key: _decode(hints.get(key, Any), value) for key, value in plain.items()})


def _decode(hint: Any, value: Any) -> Any:
    if value is None or hint is Any:
        return value
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(arguments, value)
    if origin in (tuple, list, frozenset, set):
        return origin(_decode(arguments[0], each) for each in value)
    if origin in (dict, Mapping):
        return {key: _decode(arguments[1], each) for key, each in value.items()}
    return _decode_class(hint, value)


def _decode_class(hint: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return from_plain(hint, value)  # type: ignore[arg-type] # a class, not an instance
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    return value


def _decode_union(options: tuple[Any, ...], value: Any) -> Any:
    """Choose by shape: a mapping wants a dataclass, a list a tuple, the rest passes through."""
    for option in options:
        bare = typing.get_origin(option) or option
        if isinstance(value, Mapping) and _fits(bare, value):
            return _decode(option, value)
        if isinstance(bare, type) and issubclass(bare, enum.Enum) and isinstance(value, str):
            return bare(value)
        if isinstance(value, list) and bare in (tuple, list, frozenset):
            return _decode(option, value)
    return value


def _fits(option: Any, value: Mapping[str, Any]) -> bool:
    """Whether a dataclass has these keys, and its literals these values."""
    if not dataclasses.is_dataclass(option):
        return False
    hints = _hints(option)  # type: ignore[arg-type] # classes are hashable
    return all(
        key in hints
        and (typing.get_origin(hints[key]) is not typing.Literal or entry in hints[key].__args__)
        for key, entry in value.items()
    )
