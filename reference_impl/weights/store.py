"""Anonymous memory through which snapshots reach workers: written once by the owner, copied out by each worker.

One file in memory without a name: nothing to leak, freed by the kernel whoever dies, one descriptor
    whatever the number of
tensors. A snapshot lies in a slot; a slot is written again only once nobody can read it any more,
so that a worker which was stopped in the middle of a read still reads one version.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
import tempfile
import weakref
from dataclasses import dataclass
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any, Final

import torch

from reference_impl.weights import packing
from reference_impl.weights.messages import Payload

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNSHARED: Final = 2  # the reader's own reference, and the argument of getrefcount


@dataclass(slots=True, kw_only=True)
class _Slot:
    offset: int
    view: torch.Tensor  # uint8, over a shared mapping of the file
    packer: packing.Packer | None = None
    header_nbytes: int = 0
    leased: bool = False


class SnapshotStore:
    """The owner's side: puts snapshots into slots, and frees them when it is told.

    Bound: one slot more than there are snapshots leased at once, for each power of two of bytes.
    """

    def __init__(self) -> None:
        self._fd = _anonymous_file()
        self._slots: list[_Slot] = []
        self._nbytes = 0
        self._release = weakref.finalize(self, os.close, self._fd)

    def reader(self) -> SnapshotReader:
        """Return a worker's side; it may be an argument of a new process, and must be closed by whoever has it."""
        return SnapshotReader(os.dup(self._fd))

    def put(self, tensors: Mapping[str, torch.Tensor]) -> Payload:
        """Copy `tensors` into a free slot, lease it, and return where it is."""
        layout = packing.layout_of(tensors)
        header = pickle.dumps(layout, pickle.HIGHEST_PROTOCOL)
        begin = -(-len(header) // packing.ALIGNMENT) * packing.ALIGNMENT
        slot = self._free_slot(begin + layout.nbytes)
        slot.view[: len(header)] = torch.frombuffer(bytearray(header), dtype=torch.uint8)
        if slot.packer is None or slot.header_nbytes != begin:
            slot.packer, slot.header_nbytes = packing.Packer(slot.view[begin:]), begin
        slot.packer.write(tensors, layout)
        slot.leased = True
        return Payload(
            offset=slot.offset,
            header_nbytes=len(header),
            data_offset=slot.offset + begin,
            data_nbytes=layout.nbytes,
        )

    def free(self, payload: Payload) -> None:
        """End the lease of a payload that nobody will read any more."""
        for slot in self._slots:
            if slot.offset == payload.offset:
                slot.leased = False

    def close(self) -> None:
        """Give the memory up; readers keep what they hold until they close."""
        self._slots.clear()
        self._release()

    def _free_slot(self, nbytes: int) -> _Slot:
        for slot in self._slots:
            if not slot.leased and slot.view.numel() >= nbytes:
                return slot
        size = max(mmap.ALLOCATIONGRANULARITY, 1 << (nbytes - 1).bit_length())
        os.ftruncate(self._fd, self._nbytes + size)
        # A tensor over a memoryview keeps the mapping; over the mapping itself it would not.
        view = memoryview(mmap.mmap(self._fd, size, offset=self._nbytes))
        slot = _Slot(offset=self._nbytes, view=torch.frombuffer(view, dtype=torch.uint8))
        self._slots.append(slot)
        self._nbytes += size
        return slot


class SnapshotReader:
    """A worker's side: copies snapshots out, into memory of its own."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._memory = bytearray()
        self._file = torch.empty(0, dtype=torch.uint8)
        self._release = weakref.finalize(self, os.close, fd)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_reader, (reduction.DupFd(self._fd),)

    def read(self, payload: Payload) -> tuple[packing.Layout, torch.Tensor]:
        """Return a private copy of a snapshot: its layout and its bytes (uint8)."""
        data_end = payload.data_offset + payload.data_nbytes
        file = self._file_until(data_end)
        header = file[payload.offset : payload.offset + payload.header_nbytes]
        layout: packing.Layout = pickle.loads(header.numpy().tobytes())
        data = self._private_memory(payload.data_nbytes)
        data.copy_(file[payload.data_offset : data_end])
        return layout, data

    def close(self) -> None:
        """Give the descriptor and the mapping up; closing again does nothing."""
        self._release()
        self._file = torch.empty(0, dtype=torch.uint8)

    def _private_memory(self, nbytes: int) -> torch.Tensor:
        """Return the memory of the last snapshot if nobody has kept a tensor of it, else fresh memory."""
        if len(self._memory) < nbytes or sys.getrefcount(self._memory) > _UNSHARED:
            self._memory = bytearray(nbytes)
        if not nbytes:
            return torch.empty(0, dtype=torch.uint8)
        return torch.frombuffer(self._memory, dtype=torch.uint8, count=nbytes)

    def _file_until(self, end: int) -> torch.Tensor:
        """Return the file's bytes up to `end` at least, mapped so that nothing can be written through."""
        if self._file.numel() < end:
            size = os.fstat(self._fd).st_size
            if size < end:
                raise EOFError(f"the store has {size} bytes, a payload ends at {end}")
            view = memoryview(mmap.mmap(self._fd, size, access=mmap.ACCESS_COPY))
            self._file = torch.frombuffer(view, dtype=torch.uint8)
        return self._file


def _rebuild_reader(duplicate: Any) -> SnapshotReader:
    return SnapshotReader(duplicate.detach())


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("weights", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
