"""The last batches that a backend handed out, kept as a user would keep them, and digested again and again."""

from __future__ import annotations

import itertools
import zlib
from collections import deque
from typing import Any

import numpy as np

from harness.ports.pool import Batch

HELD_MAX = 8  # batches; what was handed out before them is let go
BYTES_MAX = 4096  # of each array: half of it from either end

Arrays = tuple[Any, ...]  # whatever numpy reads


class Held:
    """Holds batches without copying them; nobody writes into them here."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._batches: deque[tuple[int, Arrays]] = deque(maxlen=HELD_MAX)

    def take(self, batch: Batch) -> dict[str, Any]:
        """Hold a batch; its number in this cell and its digest, for the journal."""
        number, arrays = next(self._numbers), _arrays(batch)
        self._batches.append((number, arrays))
        return {"batch": number, "digest": _digest(arrays)}

    def digests(self) -> dict[str, str]:
        """What the held batches are now, by number."""
        return {str(number): _digest(arrays) for number, arrays in tuple(self._batches)}

    def let_go(self, number: int) -> None:
        """Let go of one of them: it is the pool's again."""
        kept = [each for each in self._batches if each[0] != number]
        self._batches.clear()
        self._batches.extend(kept)

    def clear(self) -> None:
        """Let go of all of them."""
        self._batches.clear()


def _arrays(batch: Batch) -> Arrays:
    columns = (
        batch.observation,
        batch.action,
        batch.reward,
        batch.terminated,
        batch.truncated,
        batch.final_observation,
    )
    return tuple(batch.handed) or tuple(each for each in columns if each is not None)


def _digest(arrays: Arrays) -> str:
    """A checksum: it tells changes, not forgeries."""
    total = 0
    for array in arrays:
        total = zlib.crc32(_contents(array), total)
    return f"{total:08x}"


def _contents(array: Any) -> bytes:
    """What its owner sees in it now.

    A queue's thread moves a tensor that it sends into shared memory, once, and frees where it was. Memory that it
    moved away from is not its owner's any more: what was read of it meanwhile is anybody's, and is read again.
    """
    place, contents = _read(array)
    if _place(np.asarray(array)) != place:
        _, contents = _read(array)
    return contents


def _read(array: Any) -> tuple[int, bytes]:
    seen = np.asarray(array)
    data = np.ascontiguousarray(seen).reshape(-1).view(np.uint8)
    if data.size > BYTES_MAX:
        data = np.concatenate([data[: BYTES_MAX // 2], data[-BYTES_MAX // 2 :]])
    return _place(seen), data.tobytes()


def _place(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
