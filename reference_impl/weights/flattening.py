"""From the tensors of a source to the flat pieces that one `cat` a dtype writes side by side."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from tensordict import TensorDictBase  # a TensorDictParams is a Module, too
from torch import nn

from reference_impl.weights.packing import ALIGNMENT, Layout, layout_of, weights_of
from reference_impl.weights.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_impl.weights.packing import Source, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat:
    """What is to be written where.

    Attributes:
        layout: what will lie where; the same object as long as it is equal.
        runs: by dtype, its first byte, its size in bytes, and the one-dimensional pieces that fill it.
    """

    layout: Layout
    runs: tuple[tuple[torch.dtype, int, int, list[torch.Tensor]], ...]

    def write(self, buffer: torch.Tensor) -> None:
        """Copy all values into `buffer`, uint8 of at least `layout.nbytes`; they are read now."""
        with torch.no_grad():
            for dtype, begin, nbytes, pieces in self.runs:
                torch.cat(pieces, out=buffer[begin : begin + nbytes].view(dtype))


class Flattener:
    """Flattens sources; at no cost that grows with their tensors while the same module has not changed."""

    def __init__(self, strategy: Strategy = "tensordict") -> None:
        self._strategy: Strategy = strategy
        self._module: nn.Module | None = None
        self._plan: Plan | None = None
        self._where: list[object] = []
        self._form: list[object] = []
        self._flat: Flat | None = None

    def flatten(self, source: Source) -> Flat:
        """Return the pieces of `source`, which share its memory wherever they can.

        Raises:
            TypeError, ValueError: as `weights_of`.
        """
        if isinstance(source, nn.Module) and not isinstance(source, TensorDictBase):
            if source is not self._module or self._plan is None:
                self._module, self._plan = source, Plan(source)
            changed = self._plan.refresh()
            if self._plan.plain:
                return self._of_plain(self._plan, changed=changed)
        weights = weights_of(source, self._strategy)
        self._where = []
        return self._of(weights.tensors, weights.extras)

    def _of_plain(self, plan: Plan, *, changed: bool) -> Flat:
        tensors = plan.tensors
        where = _where(tensors)
        if self._flat is None or changed or where != self._where or not _all_lasting(tensors):
            if self._strategy == "state_dict":
                tensors = {n: t for n, t in tensors.items() if n not in plan.transient}
            self._of({name: tensor.detach() for name, tensor in tensors.items()}, b"")
            self._where = where
        assert self._flat is not None
        return self._flat

    def _of(self, tensors: Mapping[str, torch.Tensor], extras: bytes) -> Flat:
        layout = layout_of(tensors, extras)
        if self._flat is not None and self._flat.layout == layout:
            layout = self._flat.layout
        self._flat = Flat(layout=layout, runs=_runs(layout, tensors))
        return self._flat


def _where(tensors: Mapping[str, torch.Tensor]) -> list[object]:
    """What says that pieces made earlier still are the tensors' memory, in their shape."""
    values = tensors.values()
    return [*(t.data_ptr() for t in values), *(t.shape for t in values)]


def _all_lasting(tensors: Mapping[str, torch.Tensor]) -> bool:
    """Whether the pieces of all tensors are their own memory, not a copy of it."""
    return all(t.is_contiguous() and t.is_cpu for t in tensors.values()) and not any(
        t.is_conj() or t.is_neg() for t in tensors.values() if t.is_complex()
    )


def _runs(
    layout: Layout, tensors: Mapping[str, torch.Tensor]
) -> tuple[tuple[torch.dtype, int, int, list[torch.Tensor]], ...]:
    runs = []
    entries = {entry.offset: entry for entry in layout.entries if entry.nbytes}  # tied ones once
    ordered = sorted(entries.values(), key=lambda entry: entry.offset)
    for dtype, group in itertools.groupby(ordered, key=lambda entry: entry.dtype):
        pieces: list[torch.Tensor] = []
        begin = end = -1
        filling = torch.zeros(ALIGNMENT // dtype.itemsize, dtype=dtype)
        for entry in group:
            begin = entry.offset if begin < 0 else begin
            pieces.append(_piece(tensors[entry.name]))
            end = entry.offset + entry.nbytes
            if rest := -entry.nbytes % ALIGNMENT:
                pieces.append(filling[: rest // dtype.itemsize])
                end += rest
        runs.append((dtype, begin, end - begin, pieces))
    return tuple(runs)


def _piece(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.cpu().resolve_conj().resolve_neg().reshape(-1)
