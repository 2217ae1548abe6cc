"""The state of a ring in shared memory: switched at once from one to the next, whoever dies meanwhile.

There are two banks and a version, whose lowest bit says which bank counts. A change is written into
the other bank, whole, before the version says so. Readers need no lock: what they read is right
if the version is the same before and after. The lock keeps two changes apart.

The version's store follows those to the bank, and to the rows, in program order; that readers see
them in that order is what x86 guarantees.
"""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Any, Final

from reference_impl.storage.ring import CLAIMS_MAX, Claim, Owner, Ring

if TYPE_CHECKING:
    import torch

_MAGIC: Final = 0x52494E4731  # of this form of header
_VERSION, _CAPACITY, _FORM_BYTES, _ROOM, _ROWS_FILE = 1, 2, 3, 4, 5
_BANKS: Final = 8
_BANK: Final = 5 + 4 * CLAIMS_MAX
_FORM: Final = 8 * (_BANKS + 2 * _BANK)
FORM_BYTES_MAX: Final = 1 << 16
SIZE: Final = _FORM + FORM_BYTES_MAX
"""Bytes of a header."""
ROWS_FILE_AT: Final = 8 * _ROWS_FILE
"""The byte at which it says, in 8 of them, which file has its rows: whoever opens them asks the file."""


class Header:
    """A header in memory that begins as zeros."""

    def __init__(self, memory: torch.Tensor) -> None:
        self._bytes = memory.numpy().data
        self._words = self._bytes[:_FORM].cast("q")
        self._known: tuple[int, Ring] | None = None

    @property
    def is_one(self) -> bool:
        """Whether `begin` was called on this memory."""
        return self._words[0] == _MAGIC

    @property
    def is_new(self) -> bool:
        """Whether `begin` may be called."""
        return self._words[0] == 0

    @property
    def room(self) -> int:
        """For how many rows there is memory; it is written under the lock, and only grows."""
        return self._words[_ROOM]

    @room.setter
    def room(self, rows: int) -> None:
        self._words[_ROOM] = rows

    @property
    def version(self) -> int:
        """Grows with each change."""
        return self._words[_VERSION]

    def begin(self) -> None:
        """Make it a header without form."""
        self._words[0] = _MAGIC

    def form(self) -> Any | None:
        """Return what `settle` was given, or None before that."""
        if not self._words[_CAPACITY]:
            return None
        return json.loads(bytes(self._bytes[_FORM : _FORM + self._words[_FORM_BYTES]]))

    def settle(self, form: Any, ring: Ring) -> None:
        """Say what rows look like, and begin with this ring; under the lock, once.

        Raises:
            ValueError: there are too many columns to be described.
        """
        text = json.dumps(form).encode()
        if len(text) > FORM_BYTES_MAX:
            raise ValueError(
                f"the description of a row takes {len(text)} of {FORM_BYTES_MAX} bytes"
            )
        self._bytes[_FORM : _FORM + len(text)] = text
        self._words[_FORM_BYTES] = len(text)
        self.publish(ring)
        self._words[_CAPACITY] = ring.capacity

    def ring(self) -> Ring:
        """Return the ring as it is; `settle` was called."""
        words = self._words
        while True:
            version = words[_VERSION]
            if self._known is not None and self._known[0] == version:
                return self._known[1]
            at = _bank(version)
            head, base, written, lost, count = words[at : at + 5]
            claims = words[at + 5 : at + 5 + 4 * min(max(count, 0), CLAIMS_MAX)].tolist()
            if words[_VERSION] == version:  # else the bank may have been written meanwhile
                break
        ring = Ring(
            capacity=words[_CAPACITY],
            head=head,
            base=base,
            written=written,
            lost=lost,
            claims=tuple(_claim(*claims[i : i + 4]) for i in range(0, len(claims), 4)),
        )
        self._known = version, ring
        return ring

    def publish(self, ring: Ring) -> None:
        """Switch to this ring; under the lock."""
        assert len(ring.claims) <= CLAIMS_MAX
        version = self._words[_VERSION] + 1
        at = _bank(version)
        values = array("q", (ring.head, ring.base, ring.written, ring.lost, len(ring.claims)))
        for one in ring.claims:
            owner = one.owner
            values.extend(
                (one.start, one.rows, owner.pid if owner else 0, owner.born if owner else 0)
            )
        self._words[at : at + len(values)] = memoryview(values)
        self._words[_VERSION] = version
        self._known = version, ring


def _bank(version: int) -> int:
    return _BANKS + (version & 1) * _BANK


def _claim(start: int, rows: int, pid: int, born: int) -> Claim:
    return Claim(start=start, rows=rows, owner=Owner(pid=pid, born=born) if pid else None)
