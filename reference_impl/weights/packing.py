"""Weights as one flat run of bytes, and back: a snapshot that shares nothing with whoever it was taken from.

A snapshot is a `Layout` (names, shapes, dtypes, where each tensor begins) and a buffer of
`layout.nbytes` bytes. Tensors of one dtype lie side by side, so that one `torch.cat` a dtype writes
them whatever their number; names that are tied share their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import torch
from tensordict import TensorDictBase
from torch import nn

from reference_impl.core import wire

ALIGNMENT: Final = 32  # of a vector register, and a multiple of every element size
SEPARATOR: Final = "."  # as in `nn.Module.state_dict`
EXTRA: Final = "_extra_state"  # how `nn.Module.state_dict` calls what a module adds to it
_TORCHRL_EXTRA: Final = "__extra_state__"  # how torchrl calls it in a TensorDict, for the root

Strategy: TypeAlias = Literal["tensordict", "state_dict"]
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
        entries: the tensors, in the order of the source.
        nbytes: size of the buffer.
        extras: what modules add to their `state_dict`, by name, as `wire` bytes; b"" if nothing.
    """

    entries: tuple[Entry, ...]
    nbytes: int
    extras: bytes = b""

    def extra_state(self) -> dict[str, Any]:
        """Return what modules add to their `state_dict`, by name; a copy of its own each time."""
        state: dict[str, Any] = wire.loads(self.extras) if self.extras else {}
        return state


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What is sent of a source.

    Attributes:
        tensors: by name, the source's own memory.
        extras: as `Layout.extras`.
    """

    tensors: dict[str, torch.Tensor]
    extras: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTensors:
    """The tensors of a module, by name.

    Attributes:
        saved: those of its `state_dict`.
        transient: the buffers that a `state_dict` leaves out (`persistent=False`).
        extras: names of what its modules add to it.
    """

    saved: Mapping[str, torch.Tensor]
    transient: Mapping[str, torch.Tensor]
    extras: frozenset[str] = frozenset()


def weights_of(source: Source, strategy: Strategy = "tensordict") -> Weights:
    """Return the weights of `source`, not copied.

    Keys of a TensorDict and of nested mappings are joined with dots.

    Args:
        source: what has them.
        strategy: of a module, "state_dict" takes what its `state_dict` has, "tensordict" its
            non-persistent buffers too.

    Raises:
        TypeError: `source` is of another kind, or a value in it is not a dense tensor.
        ValueError: two entries have the same name.
    """
    if isinstance(source, TensorDictBase):  # before Module: TensorDictParams is both
        pairs = _pairs_of_tensordict(source)
    elif isinstance(source, nn.Module):
        pairs = _pairs_of_module(source, strategy)
    elif isinstance(source, Mapping):
        pairs = _pairs_of_mapping(source, "")
    else:
        raise TypeError(
            f"weights must be a Module, a TensorDict or a mapping, got {type(source).__name__}"
        )
    tensors: dict[str, torch.Tensor] = {}
    extras: dict[str, Any] = {}
    for name, value in pairs:
        if name in tensors or name in extras:
            raise ValueError(f"weights name {name!r} twice")
        if is_extra(name):
            extras[name] = value
        elif not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            raise TypeError(f"weights[{name!r}] must be a dense tensor, got {type(value).__name__}")
        else:
            tensors[name] = value.detach()
    return Weights(tensors=tensors, extras=wire.dumps(extras) if extras else b"")


def is_extra(name: str) -> bool:
    """Return whether a `state_dict` calls by this name what a module adds to it."""
    return name.rpartition(SEPARATOR)[2] == EXTRA


def layout_of(tensors: Mapping[str, torch.Tensor], extras: bytes = b"") -> Layout:
    """Return where each tensor will lie in one buffer: those of a dtype together, tied ones once."""
    sizes: dict[torch.dtype, int] = {}
    places: dict[object, int] = {}
    for tensor in tensors.values():
        dtype, nbytes = tensor.dtype, _nbytes(tensor)
        if (place := _memory(tensor)) not in places:
            places[place] = sizes.get(dtype, 0)
            sizes[dtype] = places[place] + nbytes - nbytes % -ALIGNMENT
    begins, end = {}, 0
    for dtype, nbytes in sizes.items():
        begins[dtype], end = end, end + nbytes
    entries = (
        Entry(
            name=name,
            shape=tuple(tensor.shape),
            dtype=tensor.dtype,
            offset=begins[tensor.dtype] + places[_memory(tensor)],
            nbytes=_nbytes(tensor),
        )
        for name, tensor in tensors.items()
    )
    return Layout(entries=tuple(entries), nbytes=end, extras=extras)


def _memory(tensor: torch.Tensor) -> object:
    """What tied tensors have in common, and no others."""
    if not tensor.numel():
        return (tensor.dtype, id(tensor))
    where = (tensor.data_ptr(), tensor.storage_offset(), tensor.stride())
    return (tensor.dtype, tensor.device, tensor.shape, tensor.is_conj(), tensor.is_neg(), *where)


def _nbytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def pack(source: Source, strategy: Strategy = "tensordict") -> tuple[Layout, torch.Tensor]:
    """Return a snapshot of `source` in a fresh uint8 buffer.

    Raises:
        TypeError, ValueError: as `weights_of`.
    """
    weights = weights_of(source, strategy)
    layout = layout_of(weights.tensors, weights.extras)
    buffer = torch.empty(layout.nbytes, dtype=torch.uint8)
    for name, view in views(layout, buffer).items():
        view.copy_(weights.tensors[name])
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
    extras = layout.extra_state().keys()
    wrong = [f"missing {name!r}" for name in model.saved if name not in sent]
    wrong += [f"missing {name!r}" for name in model.extras if name not in extras]
    wrong += [f"unexpected {name!r}" for name in sent if name not in have]
    wrong += [f"unexpected {name!r}" for name in extras if name not in model.extras]
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
        TypeError: its `state_dict` has something else than tensors and extra state.
    """
    state = module.state_dict()
    saved = {name: value for name, value in state.items() if not is_extra(name)}
    for name, value in saved.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"state_dict[{name!r}] must be a tensor, got {type(value).__name__}")
    buffers = module.named_buffers(remove_duplicate=False)
    return ModelTensors(
        saved=saved,
        transient={n: b for n, b in buffers if n not in saved},
        extras=frozenset(name for name in state if is_extra(name)),
    )


def _pairs_of_module(module: nn.Module, strategy: Strategy) -> Iterator[tuple[str, Any]]:
    state = module.state_dict()
    yield from state.items()
    if strategy == "tensordict":
        buffers = module.named_buffers(remove_duplicate=False)
        yield from ((name, buffer) for name, buffer in buffers if name not in state)


def _pairs_of_tensordict(source: TensorDictBase) -> Iterator[tuple[str, Any]]:
    extra = source.get(_TORCHRL_EXTRA, None)
    if extra is not None:
        yield EXTRA, extra.clone().flatten_keys(SEPARATOR).to_dict()
        source = source.exclude(_TORCHRL_EXTRA)
    for key, value in source.items(include_nested=True, leaves_only=True):
        yield key if isinstance(key, str) else SEPARATOR.join(key), value


def _pairs_of_mapping(source: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in source.items():
        if not isinstance(key, str):
            raise TypeError(f"names of weights must be strings, got {key!r}")
        if isinstance(value, Mapping) and not is_extra(key):
            yield from _pairs_of_mapping(value, f"{prefix}{key}{SEPARATOR}")
        else:
            yield prefix + key, value
