"""TensorDicts and specs of torchrl in the port's neutral terms: a flat mapping of what is where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from tensordict import NonTensorData, NonTensorStack, TensorDictBase
from torchrl.data import Composite, NonTensor

from harness.ports.entries import Described

VALUES_MAX = 512  # entries; of larger tensors only the form is told
_OBJECTS = (NonTensorData, NonTensorStack)
_Leaf = dict[str, Any]


def described(data: Any, *, values: bool = True, prefix: str = "") -> Described:
    """What a TensorDict holds, by path; `prefix` comes before each path."""
    found: dict[str, Mapping[str, Any]] = {}
    for key, value in data.items():
        path = f"{prefix}{key}"
        if isinstance(value, _OBJECTS):
            found[path] = _object(value)
        elif isinstance(value, TensorDictBase):
            found |= described(value, values=values, prefix=f"{path}/")
        elif isinstance(value, torch.Tensor):
            found[path] = _tensor(value, values=values)
        else:
            found[path] = {**_form("object", (), None, None), "values": str(value)}
    return found


def described_spec(spec: Composite, prefix: str = "") -> Described:
    """What a spec says of each leaf below it."""
    found: dict[str, Mapping[str, Any]] = {}
    for key, leaf in spec.items():
        path = f"{prefix}{key}"
        if isinstance(leaf, Composite):
            found |= described_spec(leaf, f"{path}/")
        elif isinstance(leaf, NonTensor):
            found[path] = _form("object", leaf.shape, None, None)
        elif leaf is not None:
            found[path] = _form("tensor", leaf.shape, leaf.dtype, leaf.device)
    return found


def resized(promised: Described, rows: int, time: int | None = None) -> Described:
    """The same leaves with `rows` rows instead of all, and a second dimension of `time` steps, if any."""
    steps = [] if time is None else [time]
    return {
        key: {**leaf, "shape": [rows, *steps, *leaf["shape"][1:]]} for key, leaf in promised.items()
    }


def below(prefix: str, *parts: Mapping[str, Any]) -> Described:
    """Several descriptions in one, each path below `prefix`."""
    return {f"{prefix}{key}": leaf for part in parts for key, leaf in part.items()}


def overwrite(leaves: Iterable[Any]) -> None:
    """Write over TensorDicts as their owner may: every tensor in place, every object of a stack anew."""
    for data in leaves:
        for value in _leaves(data):
            if isinstance(value, NonTensorStack):
                overwrite_objects(value)
            elif isinstance(value, torch.Tensor) and not isinstance(value, TensorDictBase):
                value.zero_().sub_(7) if value.dtype != torch.bool else value.logical_not_()


def overwrite_objects(stack: Any) -> None:
    """Change each object in place, so that whoever keeps it sees the change."""
    for each in stack.tensordicts:
        if isinstance(each, NonTensorStack):
            overwrite_objects(each)
        else:
            each.update_(NonTensorData(-7, batch_size=each.batch_size))


def _leaves(data: Any) -> list[Any]:
    if isinstance(data, TensorDictBase) and hasattr(data, "tensordicts"):
        return [leaf for row in data.tensordicts for leaf in _leaves(row)]
    found: list[Any] = []
    for value in data.values():
        nested = isinstance(value, TensorDictBase) and not isinstance(value, _OBJECTS)
        found += _leaves(value) if nested else [value]
    return found


def _tensor(value: torch.Tensor, *, values: bool) -> _Leaf:
    told = values and value.numel() <= VALUES_MAX
    form = _form("tensor", value.shape, value.dtype, value.device)
    return {**form, "values": value.detach().cpu().tolist() if told else None}


def _object(value: Any) -> _Leaf:
    content = value.tolist()
    plain = content if isinstance(content, list) else [content]
    return {**_form("object", value.shape, None, None), "values": plain if value.shape else content}


def _form(kind: str, shape: Iterable[int], dtype: Any, device: Any) -> _Leaf:
    return {
        "kind": kind,
        "shape": list(shape),
        "dtype": None if dtype is None else str(dtype).removeprefix("torch."),
        "device": None if device is None else torch.device(device).type,
    }
