"""Rows that carry their stamp, who wrote them and which they are, in every element of every array.

Element `number` (from 1) of a stream is step `(number - 1) % horizon` of its trajectory
`(number - 1) // horizon`. All arrays follow from stream and number, so that an element is whole if its
arrays are what follows from two of them; nobody's number is 0, so that memory that was never written is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.ports.storage import Columns, RowDefect, Rows

Array = npt.NDArray[Any]
STREAM, NUMBER = "stream", "number"
NUMBERS = 1_000_000  # of one stream; up to 16 streams a stamp is exact in a float32
_SHAPES: dict[Rows, dict[str, tuple[str, tuple[int, ...]]]] = {
    "plain": {"body": ("float32", (3,))},
    "wide": {"body": ("int64", (8192,))},
    "nested": {
        "observation/pixels": ("uint8", (5, 4)),
        "observation/vector": ("float64", (3,)),
        "flag": ("bool", (2,)),
    },
}


def rows_of(
    writer: int, first: int, shape: Sequence[int], rows: Rows, horizon: int
) -> dict[str, Array]:
    """A batch of a writer's next rows, the first of which has number `first`; shape [rows] or [rows, envs]."""
    width = shape[1] if len(shape) > 1 else 1
    numbers = np.arange(first, first + shape[0], dtype=np.int64).reshape(-1, 1).repeat(width, 1)
    streams = np.arange(writer * width, (writer + 1) * width, dtype=np.int64)
    streams = np.broadcast_to(streams + 1, numbers.shape)
    return _columns(streams.reshape(shape), numbers.reshape(shape), rows, horizon)


def spoilt(columns: Columns, defect: RowDefect) -> dict[str, Array]:
    """The same with one array missing, of another shape, or of a type that does not hold what is stored."""
    found = dict(columns)
    name = "body" if "body" in found else "observation/vector"
    match defect:
        case "missing_key":
            del found[name]
        case "shape":
            found[name] = np.concatenate([found[name], found[name]], axis=-1)
        case "dtype":
            found[name] = found[name].astype("complex64")
    return found


def read(columns: Columns, rows: Rows, horizon: int, dims: int = 1) -> list[dict[str, Any]]:
    """What each element of these arrays says: stream, number, and the arrays that are not as they were written.

    Args:
        columns: the arrays.
        rows: of which form they were written.
        horizon: elements of a trajectory.
        dims: how many dimensions all have in front: elements, or rows and envs.
    """
    arrays = {key: np.asarray(value) for key, value in columns.items()}
    lead = lead_of(columns, dims)
    streams, numbers = (_stamp(arrays.get(key), lead) for key in (STREAM, NUMBER))
    wrong: list[list[str]] = [[] for _ in range(streams.size)]
    for key, wanted in _columns(streams, numbers, rows, horizon).items():
        why, bad = _difference(arrays.get(key), wanted, dims)
        for i in np.flatnonzero(bad):
            wrong[i].append(f"{key} ({why})" if why else key)
    return list(_told(streams.reshape(-1), numbers.reshape(-1), wrong))


def lead_of(columns: Columns, dims: int) -> tuple[int, ...]:
    """How many rows there are, and of how many envs each is, where `dims` is 2: as the first array has it."""
    first = next(iter(columns.values()), np.zeros((0,) * dims))
    lead = np.shape(first)[:dims]
    return (*lead, *(1,) * (dims - len(lead)))


def _stamp(found: Array | None, lead: tuple[int, ...]) -> Array:
    """One part of a stamp, nobody's where there is none."""
    if found is None or found.shape != lead or found.dtype.kind not in "iuf":
        return np.zeros(lead, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        return found.astype(np.int64)


def _difference(found: Array | None, wanted: Array, dims: int) -> tuple[str, Array]:
    """Why an array is another one altogether, and in which elements it differs."""
    every = np.ones(math.prod(wanted.shape[:dims]), dtype=bool)
    if found is None:
        return "missing", every
    if found.shape != wanted.shape:
        return f"of shape {found.shape[dims:]}, and not {wanted.shape[dims:]}", every
    if found.dtype != wanted.dtype:
        return f"{found.dtype}, and not {wanted.dtype}", every
    axes = tuple(range(dims, wanted.ndim))
    return "", (found != wanted).any(axes).reshape(-1)


def _told(streams: Array, numbers: Array, wrong: list[list[str]]) -> Iterator[dict[str, Any]]:
    for stream, number, bad in zip(streams.tolist(), numbers.tolist(), wrong, strict=True):
        yield {"stream": int(stream) - 1, "number": int(number), **({"wrong": bad} if bad else {})}


def _columns(streams: Array, numbers: Array, rows: Rows, horizon: int) -> dict[str, Array]:
    stamps = streams * NUMBERS + numbers
    with np.errstate(over="ignore"):
        found: dict[str, Array] = {
            STREAM: streams,
            NUMBER: numbers,
            "trajectory": streams * NUMBERS + (numbers - 1) // horizon,
            "step": (numbers - 1) % horizon,
        }
    for key, (dtype, shape) in _SHAPES[rows].items():
        spread = np.broadcast_to(
            stamps.reshape(*stamps.shape, *(1,) * len(shape)), (*stamps.shape, *shape)
        )
        if dtype == "uint8":
            found[key] = (spread % 255 + 1).astype("uint8")
        elif dtype == "bool":
            found[key] = spread % 2 == 0
        else:
            found[key] = spread.astype(dtype)
    return found
