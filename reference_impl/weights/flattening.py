"""From the tensors of a source to the flat pieces that one `cat` a dtype writes side by side."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from tensordict import TensorDictBase  # a TensorDictParams is a Module, too
from torch import nn

from reference_impl.weights.packing import ALIGNMENT, Layout, layout_of, weights_of
from reference_impl.weights.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_impl.weights.packing import Source, Strategy


_IS_SET_TO: Final = torch.Tensor.is_set_to
_NOTHING: Final = torch.empty(0)  # what no tensor of a model is set to


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
        self._seen: list[torch.Tensor] = []
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
        self._seen = [_NOTHING]
        return self._of(weights.tensors, weights.extras)

    def _of_plain(self, plan: Plan, *, changed: bool) -> Flat:
        tensors = plan.tensors.values()
        # Also a tensor whose memory was exchanged below it, or seen in another way, is another.
        as_seen = len(tensors) == len(self._seen) and all(map(_IS_SET_TO, tensors, self._seen))
        if self._flat is None or changed or not as_seen:
            names = plan.tensors
            if self._strategy == "state_dict":
                names = {n: t for n, t in names.items() if n not in plan.transient}
            self._of({name: tensor.detach() for name, tensor in names.items()}, b"")
            lasting = all(map(_is_lasting, tensors))
            self._seen = [tensor.detach() for tensor in tensors] if lasting else [_NOTHING]
        assert self._flat is not None
        return self._flat

    def _of(self, tensors: Mapping[str, torch.Tensor], extras: bytes) -> Flat:
        layout = layout_of(tensors, extras)
        if self._flat is not None and self._flat.layout == layout:
            layout = self._flat.layout
        self._flat = Flat(layout=layout, runs=_runs(layout, tensors))
        return self._flat


def _is_lasting(tensor: torch.Tensor) -> bool:
    """Whether the piece of a tensor is its own memory, not a copy of it."""
    plain = not (tensor.is_complex() and (tensor.is_conj() or tensor.is_neg()))
    return tensor.is_contiguous() and tensor.is_cpu and plain


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
