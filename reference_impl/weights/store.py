"""Anonymous memory through which snapshots reach workers: written by the owner, read by each worker.

One file in memory without a name: nothing to leak, freed by the kernel whoever dies, one descriptor
whatever the number of tensors. A snapshot lies in a slot; a slot is written again only once nobody
can read it any more, so that a worker which was stopped in the middle of a read still reads one
version. Workers map slots so that what they write stays with them.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import tempfile
import weakref
from dataclasses import dataclass
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any, Final

import torch

from reference_impl.weights import packing
from reference_impl.weights.messages import Payload

if TYPE_CHECKING:
    from collections.abc import Collection

    from reference_impl.weights.flattening import Flat

_STAMP: Final = struct.Struct("=qq")  # version, layout
_STAMP_NBYTES: Final = packing.ALIGNMENT


class PayloadMissing(RuntimeError):  # noqa: N818 - named after what the caller meets
    """A slot does not hold the snapshot that an instruction names; nothing was applied."""


@dataclass(slots=True, kw_only=True)
class _Slot:
    offset: int
    memory: memoryview
    view: torch.Tensor  # uint8, over `memory`, a shared mapping of the file
    payload: Payload | None = None
    leased: bool = False


class SnapshotStore:
    """The owner's side: puts snapshots into slots, and frees them when it is told.

    Bound: one slot more than there are snapshots leased at once, for each power of two of bytes.
    """

    def __init__(self) -> None:
        self._fd = _anonymous_file()
        self._slots: list[_Slot] = []
        self._nbytes = 0
        self._layout: packing.Layout | None = None
        self._layout_number = 0
        self._header = b""
        self._release = weakref.finalize(self, os.close, self._fd)

    @property
    def slot_count(self) -> int:
        """How many slots there are, free ones included."""
        return len(self._slots)

    def reader(self) -> SnapshotReader:
        """Return a worker's side; it may be an argument of a new process, and must be closed by whoever has it."""
        return SnapshotReader(os.dup(self._fd))

    def put(self, flat: Flat, version: int) -> Payload:
        """Copy what is flat into a free slot, lease it, and return where it is."""
        self._note(flat.layout)
        begin = _aligned(_STAMP_NBYTES + len(self._header))
        slot = self._free_slot(begin + flat.layout.nbytes)
        held = slot.payload
        if held is None or held.layout != self._layout_number:
            slot.memory[_STAMP_NBYTES : _STAMP_NBYTES + len(self._header)] = self._header
            slot.payload = Payload(
                offset=slot.offset,
                nbytes=slot.view.numel(),
                layout=self._layout_number,
                header_nbytes=len(self._header),
                data_offset=begin,
                data_nbytes=flat.layout.nbytes,
            )
        assert slot.payload is not None
        flat.write(slot.view[begin:])
        _STAMP.pack_into(slot.memory, 0, version, self._layout_number)
        slot.leased = True
        return slot.payload

    def keep(self, offsets: Collection[int]) -> None:
        """End the leases of all payloads but those whose slots begin at `offsets`: nobody will read them any more."""
        for slot in self._slots:
            slot.leased = slot.offset in offsets

    def close(self) -> None:
        """Give the memory up; readers keep what they hold until they close."""
        self._slots.clear()
        self._release()

    def _note(self, layout: packing.Layout) -> None:
        if layout is not self._layout:
            self._layout = layout
            self._layout_number += 1
            self._header = pickle.dumps(layout, pickle.HIGHEST_PROTOCOL)

    def _free_slot(self, nbytes: int) -> _Slot:
        for slot in self._slots:
            if not slot.leased and slot.view.numel() >= nbytes:
                return slot
        # Room for a layout that grows a little; what nobody writes to costs no memory.
        size = max(mmap.ALLOCATIONGRANULARITY, 1 << (nbytes - 1).bit_length())
        os.ftruncate(self._fd, self._nbytes + size)
        # A tensor over a memoryview keeps the mapping; over the mapping itself it would not.
        memory = memoryview(mmap.mmap(self._fd, size, offset=self._nbytes))
        view = torch.frombuffer(memory, dtype=torch.uint8)
        slot = _Slot(offset=self._nbytes, memory=memory, view=view)
        self._slots.append(slot)
        self._nbytes += size
        return slot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mapped:
    """A slot in a worker: whatever is written through it stays in the worker."""

    map: mmap.mmap
    view: torch.Tensor


class SnapshotReader:
    """A worker's side: sees slots as they are in the store, without a copy.

    What the worker writes there is its own, and would hide what the owner writes later: `refresh`
    forgets it.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._slots: dict[int, _Mapped] = {}
        self._layouts: dict[int, packing.Layout] = {}
        self._release = weakref.finalize(self, os.close, fd)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_reader, (reduction.DupFd(self._fd),)

    def read(self, payload: Payload, version: int) -> tuple[packing.Layout, torch.Tensor]:
        """Return a snapshot's layout and its bytes (uint8), which lie in the slot.

        Raises:
            PayloadMissing: the slot holds another one.
            EOFError: the store is shorter than the payload says.
        """
        slot = self._mapped(payload)
        held, number = _STAMP.unpack_from(slot.map)
        if (held, number) != (version, payload.layout):
            raise PayloadMissing(f"the payload of version {version} is not there, but {held}'s")
        layout = self._layouts.get(number)
        if layout is None:
            header = slot.map[_STAMP_NBYTES : _STAMP_NBYTES + payload.header_nbytes]
            layout = pickle.loads(header)
            self._layouts.clear()  # layouts hardly ever change, and never back and forth
            self._layouts[number] = layout
        return layout, slot.view[payload.data_offset : payload.data_offset + payload.data_nbytes]

    def refresh(self, payload: Payload) -> None:
        """Forget what this worker wrote into the slot of `payload`, on which it does not act any more."""
        slot = self._slots.get(payload.offset)
        if slot is not None:
            end = payload.data_offset + payload.data_nbytes
            if _has_own_pages(slot.view[:end]):
                slot.map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Give the descriptor and the mappings up; closing again does nothing. Tensors keep what they lie in."""
        self._release()
        self._slots.clear()

    def _mapped(self, payload: Payload) -> _Mapped:
        slot = self._slots.get(payload.offset)
        if slot is None:
            end, size = payload.offset + payload.nbytes, os.fstat(self._fd).st_size
            if size < end:
                raise EOFError(f"the store has {size} bytes, a payload's slot ends at {end}")
            mapping = mmap.mmap(
                self._fd, payload.nbytes, access=mmap.ACCESS_COPY, offset=payload.offset
            )
            view = torch.frombuffer(memoryview(mapping), dtype=torch.uint8)
            slot = self._slots[payload.offset] = _Mapped(map=mapping, view=view)
        return slot


_PAGEMAP: Final = "/proc/self/pagemap"


def _has_own_pages(view: torch.Tensor) -> bool:
    """Whether a private mapping has pages that are no longer the file's; yes where nobody can tell."""
    first = view.data_ptr() // mmap.PAGESIZE
    count = -(-view.numel() // mmap.PAGESIZE)
    try:
        with open(_PAGEMAP, "rb", buffering=0) as file:
            file.seek(8 * first)
            entries = bytearray(file.read(8 * count))
    except OSError:
        return True
    if len(entries) < 8 * count:
        return True
    # The last three bits of an entry: present, swapped, a file's.
    states = (torch.frombuffer(entries, dtype=torch.int64) >> 61) & 0b111
    return bool(((states != 0) & (states & 1 == 0)).any())


def _aligned(nbytes: int) -> int:
    return -(-nbytes // packing.ALIGNMENT) * packing.ALIGNMENT


def _rebuild_reader(duplicate: Any) -> SnapshotReader:
    return SnapshotReader(duplicate.detach())


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("weights", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
