"""Weights as one flat run of bytes, and back: a snapshot that shares nothing with whoever it was taken from.

A snapshot is a `Layout` (names, shapes, dtypes, where each tensor begins) and a buffer of
`layout.nbytes` bytes in which the tensors lie one after the other, contiguous and aligned. Packing
costs one copy whatever the number of tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import torch
from tensordict import TensorDictBase
from torch import nn

ALIGNMENT: Final = 64  # a cache line, and a multiple of every element size
SEPARATOR: Final = "."  # as in `nn.Module.state_dict`

Source: TypeAlias = nn.Module | TensorDictBase | Mapping[str, Any]


class WeightsMismatch(ValueError):  # noqa: N818 - named after what the caller meets
    """The weights do not fit the model: a name, a shape or a dtype is wrong; the model was not touched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tensor of a snapshot.

    Attributes:
        name: as in the model's `state_dict`.
        shape: sizes of the tensor.
        dtype: type of its elements.
        offset: its first byte.
        nbytes: how many bytes it takes.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What lies where in a snapshot's buffer.

    Attributes:
        entries: the tensors, in the order of their bytes.
        nbytes: size of the buffer.
    """

    entries: tuple[Entry, ...]
    nbytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTensors:
    """The tensors of a module, by name.

    Attributes:
        saved: those of its `state_dict`.
        transient: the buffers that a `state_dict` leaves out (`persistent=False`).
    """

    saved: Mapping[str, torch.Tensor]
    transient: Mapping[str, torch.Tensor]


def tensors_of(source: Source) -> dict[str, torch.Tensor]:
    """Return the tensors of `source` by name, detached but not copied.

    Of a module these are its `state_dict` and its non-persistent buffers; keys of a TensorDict and
    of nested mappings are joined with dots.

    Raises:
        TypeError: `source` is of another kind, or a value in it is not a dense tensor.
        ValueError: two entries have the same name.
    """
    if isinstance(source, TensorDictBase):  # before Module: TensorDictParams is both
        pairs = _pairs_of_tensordict(source)
    elif isinstance(source, nn.Module):
        pairs = _pairs_of_module(source)
    elif isinstance(source, Mapping):
        pairs = _pairs_of_mapping(source, "")
    else:
        raise TypeError(
            f"weights must be a Module, a TensorDict or a mapping, got {type(source).__name__}"
        )
    tensors: dict[str, torch.Tensor] = {}
    for name, value in pairs:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            raise TypeError(f"weights[{name!r}] must be a dense tensor, got {type(value).__name__}")
        if name in tensors:
            raise ValueError(f"weights name {name!r} twice")
        tensors[name] = value.detach()
    return tensors


def layout_of(tensors: Mapping[str, torch.Tensor]) -> Layout:
    """Return where each tensor will lie in one buffer."""
    entries, offset = [], 0
    for name, tensor in tensors.items():
        nbytes = tensor.numel() * tensor.element_size()
        shape = tuple(tensor.shape)
        entries.append(
            Entry(name=name, shape=shape, dtype=tensor.dtype, offset=offset, nbytes=nbytes)
        )
        offset += -(-nbytes // ALIGNMENT) * ALIGNMENT
    return Layout(entries=tuple(entries), nbytes=offset)


class Packer:
    """A buffer that snapshots are written into, again and again; remembers its views of the last layout."""

    def __init__(self, buffer: torch.Tensor) -> None:
        self._buffer = buffer
        self._layout: Layout | None = None
        self._views: dict[str, torch.Tensor] = {}

    def write(
        self, tensors: Mapping[str, torch.Tensor], layout: Layout
    ) -> Mapping[str, torch.Tensor]:
        """Copy the values of `tensors`, which are only read; return the tensors of the snapshot, over the buffer."""
        if layout != self._layout:
            self._views, self._layout = views(layout, self._buffer), layout
        for name, view in self._views.items():
            view.copy_(tensors[name])
        return self._views


def pack(source: Source) -> tuple[Layout, torch.Tensor]:
    """Return a snapshot of `source` in a fresh uint8 buffer.

    Raises:
        TypeError, ValueError: as `tensors_of`.
    """
    tensors = tensors_of(source)
    layout = layout_of(tensors)
    buffer = torch.empty(layout.nbytes, dtype=torch.uint8)
    Packer(buffer).write(tensors, layout)
    return layout, buffer


def views(layout: Layout, buffer: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the tensors of a snapshot by name; they share the memory of `buffer`.

    Raises:
        ValueError: the buffer is shorter than the layout says.
    """
    if buffer.numel() < layout.nbytes:
        raise ValueError(
            f"the snapshot has {buffer.numel()} bytes, its layout says {layout.nbytes}"
        )
    return {
        entry.name: buffer[entry.offset : entry.offset + entry.nbytes]
        .view(entry.dtype)
        .view(entry.shape)
        for entry in layout.entries
    }


def check(layout: Layout, model: ModelTensors) -> None:
    """Compare names, shapes and dtypes with what a model has, before anything is touched.

    A transient buffer may be missing from the snapshot; everything else must be there, and nothing
    more.

    Raises:
        WeightsMismatch: naming all that does not fit.
    """
    have = {**model.saved, **model.transient}
    sent = {entry.name: entry for entry in layout.entries}
    wrong = [f"missing {name!r}" for name in model.saved if name not in sent]
    wrong += [f"unexpected {name!r}" for name in sent if name not in have]
    for name, tensor in have.items():
        entry = sent.get(name)
        if entry is not None and entry.shape != tuple(tensor.shape):
            wrong.append(f"{name!r} has shape {entry.shape}, not {tuple(tensor.shape)}")
        elif entry is not None and entry.dtype != tensor.dtype:
            wrong.append(f"{name!r} has dtype {entry.dtype}, not {tensor.dtype}")
    if wrong:
        raise WeightsMismatch("the weights do not fit the model: " + "; ".join(wrong))


def model_tensors(module: nn.Module) -> ModelTensors:
    """Return what a module has: the same memory, not a copy.

    Raises:
        TypeError: its `state_dict` has something else than tensors.
    """
    saved = module.state_dict()
    for name, value in saved.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"state_dict[{name!r}] must be a tensor, got {type(value).__name__}")
    buffers = module.named_buffers(remove_duplicate=False)
    return ModelTensors(saved=saved, transient={n: b for n, b in buffers if n not in saved})


def _pairs_of_module(module: nn.Module) -> Iterator[tuple[str, Any]]:
    tensors = model_tensors(module)
    yield from tensors.saved.items()
    yield from tensors.transient.items()


def _pairs_of_tensordict(source: TensorDictBase) -> Iterator[tuple[str, Any]]:
    for key, value in source.items(include_nested=True, leaves_only=True):
        yield key if isinstance(key, str) else SEPARATOR.join(key), value


def _pairs_of_mapping(source: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in source.items():
        if not isinstance(key, str):
            raise TypeError(f"names of weights must be strings, got {key!r}")
        if isinstance(value, Mapping):
            yield from _pairs_of_mapping(value, f"{prefix}{key}{SEPARATOR}")
        else:
            yield prefix + key, value
