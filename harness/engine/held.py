"""The last batches that a backend handed out, kept as a user would keep them, and digested again and again."""

from __future__ import annotations

import itertools
import pickle
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from harness.ports.pool import Batch

HELD_MAX = 8  # batches; what was handed out before them is let go
BYTES_MAX = 4096  # of each array: half of it from either end

DEPTH_MAX = 8  # of lists and mappings in what was handed out

Handed = tuple[
    Any, ...
]  # arrays, lists and mappings of such, or whatever else a backend says are some


class Held:
    """Holds batches without copying them; nobody writes into them here."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._batches: deque[tuple[int, Handed]] = deque(maxlen=HELD_MAX)

    def take(self, batch: Batch) -> dict[str, Any]:
        """Hold a batch; its number in this cell and its digest, for the journal."""
        number, handed = next(self._numbers), _handed(batch)
        self._batches.append((number, handed))
        return {"batch": number, "digest": _digest(handed)}

    def digests(self) -> dict[str, str]:
        """What the held batches are now, by number."""
        return {str(number): _digest(handed) for number, handed in tuple(self._batches)}

    def let_go(self, number: int) -> None:
        """Let go of one of them: it is the pool's again."""
        kept = [each for each in self._batches if each[0] != number]
        self._batches.clear()
        self._batches.extend(kept)

    def clear(self) -> None:
        """Let go of all of them."""
        self._batches.clear()


def _handed(batch: Batch) -> Handed:
    columns = (
        batch.observation,
        batch.action,
        batch.reward,
        batch.terminated,
        batch.truncated,
        batch.final_observation,
    )
    return tuple(batch.handed) or tuple(each for each in columns if each is not None)


def _digest(handed: Iterable[Any]) -> str:
    """A checksum: it tells changes, not forgeries."""
    total = 0
    for contents in _all_contents(handed, DEPTH_MAX):
        total = zlib.crc32(contents, total)
    return f"{total:08x}"


def _all_contents(items: Iterable[Any], depth: int) -> Iterator[bytes]:
    """What each array holds, and each below it; of what is none, whatever can be told of it."""
    for item in items:
        inner: Iterable[Any] = ()
        try:
            if isinstance(item, Mapping):
                inner = [each for pair in item.items() for each in pair]
            elif isinstance(item, list | tuple):
                inner = item
            else:
                yield _contents(item)
        except Exception:  # noqa: BLE001 - a backend hands out what it likes, and whoever looks at it gets to run it
            yield type(item).__name__.encode()
        if depth:
            yield from _all_contents(inner, depth - 1)


def _contents(array: Any) -> bytes:
    """What its owner sees in it now.

    A queue's thread moves a tensor that it sends into shared memory, once, and frees where it was. Memory that it
    moved away from is not its owner's any more: what was read of it meanwhile is anybody's, and is read again.
    """
    if isinstance(array, str | int | float | None):
        return repr(array).encode()
    seen = np.asarray(array)
    if seen.dtype.hasobject:
        return pickle.dumps(array)
    contents = _read(seen)
    again = np.asarray(array)
    return contents if _place(again) == _place(seen) else _read(again)


def _read(seen: Any) -> bytes:
    data = np.ascontiguousarray(seen).reshape(-1).view(np.uint8)
    if data.size > BYTES_MAX:
        data = np.concatenate([data[: BYTES_MAX // 2], data[-BYTES_MAX // 2 :]])
    return data.tobytes()


def _place(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
