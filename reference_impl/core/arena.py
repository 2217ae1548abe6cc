"""Anonymous memory that a pool and its worker processes share.

It has no name, so there is nothing to leak: the kernel frees it with its last mapping, whoever
died. It is made empty before the workers start, so that its descriptor can travel in their
arguments, and gets its size once that is known.
"""

from __future__ import annotations

import os
from typing import final

import torch

from reference_impl.core.descriptors import Descriptor


def supported() -> bool:
    """Return whether this platform has what shared slots need: Linux does."""
    return hasattr(os, "memfd_create") and hasattr(os, "eventfd")


@final
class Arena(Descriptor):
    """Shared memory behind one descriptor; what is mapped stays when that is released."""

    def __init__(self, fd: int | None = None, *, name: str = "reference-pool") -> None:
        super().__init__(os.memfd_create(name, os.MFD_CLOEXEC) if fd is None else fd)

    def resize(self, size: int) -> None:
        """Give it `size` bytes, all zero; nobody has mapped it yet."""
        os.ftruncate(self._fd, size)

    def map(self) -> torch.Tensor:
        """Return all of it as uint8 [size]; the memory lives as long as a tensor on it does."""
        size = os.fstat(self._fd).st_size
        # A map of Python's own would keep a copy of the descriptor open, and could be closed below
        # tensors that are still in use.
        return torch.from_file(
            f"/proc/self/fd/{self._fd}", shared=True, size=size, dtype=torch.uint8
        )
