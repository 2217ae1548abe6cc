"""Messages as bytes: pickle, with CPU tensors as plain arrays instead of shared-memory handles.

The tensor reductions that torch installs for processes cost a socket connection and a handshake for
each tensor, and leave a file descriptor open in both processes. By value, a small tensor costs
microseconds.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from typing import Any, Final

import numpy as np
import torch

_SMALL: Final = 4096  # bytes: up to here two copies cost less than what numpy does to avoid one
_PLAIN_DTYPES: Final = frozenset(
    {
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    }
)


def _reduce_tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    plain = (
        tensor.dtype in _PLAIN_DTYPES
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not tensor.requires_grad
        and not tensor.is_conj()
        and not tensor.is_neg()
    )
    if not plain:
        default: Any = tensor.__reduce_ex__  # torch does not annotate it
        reduced: tuple[Any, ...] = default(pickle.HIGHEST_PROTOCOL)
        return reduced
    array = tensor.numpy()
    if array.nbytes > _SMALL:
        return torch.from_numpy, (array,)
    return _small_tensor, (bytearray(array.tobytes()), array.dtype.char, array.shape)


def _small_tensor(data: bytearray, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.from_numpy(np.ndarray(shape, dtype, data))


_TABLE: Final[dict[type, Any]] = {**copyreg.dispatch_table, torch.Tensor: _reduce_tensor}


def dumps(message: object) -> bytes:
    """Return `message` as bytes, by value.

    Raises:
        Exception: whatever pickling a part of it raises; nothing was sent.
    """
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _TABLE
    pickler.dump(message)
    return buffer.getvalue()


def loads(data: bytes | bytearray | memoryview) -> Any:
    """Return what `dumps` was given; its tensors own their memory."""
    return pickle.loads(data)
