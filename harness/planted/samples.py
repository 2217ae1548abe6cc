"""The reference's replay storage with one bug each, of what a sample looks like; rows are stored as they should be."""

from __future__ import annotations

from typing import Any

import torch

from harness.planted.storage import planted
from reference_impl.storage import SharedReplayBuffer


class _OfOne(SharedReplayBuffer):
    def _sample(self, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """Whatever was asked for, one."""
        data, info = super()._sample(batch_size)
        index = info["index"]
        first = tuple(each[:1] for each in index) if isinstance(index, tuple) else index[:1]
        return data[:1], {**info, "index": first}


class _Lacking(SharedReplayBuffer):
    def _sample(self, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """All but the array with the name that comes first."""
        data, info = super()._sample(batch_size)
        return data.exclude(min(data.keys(), key=str)), info


class _Widened(SharedReplayBuffer):
    def _sample(self, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """Numbers with a fraction as the widest type has them."""
        data, info = super()._sample(batch_size)
        return data.apply(lambda each: each.double() if each.is_floating_point() else each), info


class _Columns(SharedReplayBuffer):
    def _sample(self, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """Single numbers as columns."""
        data, info = super()._sample(batch_size)

        def change(each: torch.Tensor) -> torch.Tensor:
            return each.unsqueeze(-1) if each.ndim == data.ndim else each

        return data.apply(change), info


sample_of_one = planted("sample_of_one", make_buffer=_OfOne)
sample_lacks_an_array = planted("sample_lacks_an_array", make_buffer=_Lacking)
sample_of_wider_numbers = planted("sample_of_wider_numbers", make_buffer=_Widened)
sample_of_columns = planted("sample_of_columns", make_buffer=_Columns)
