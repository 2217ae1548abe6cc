"""Values are stacked as they are, or not at all."""

from __future__ import annotations

import pytest
import torch

from reference_impl.pool.values import Values, stacked


def value(dtype: torch.dtype) -> Values:
    return Values(entries={"x": torch.zeros(2, dtype=dtype)}, batch_size=())


def test_no_env_changes_the_dtype_of_another():
    parts = [value(torch.float32), value(torch.float64)]
    with pytest.raises(RuntimeError, match=r"dtypes differ: torch.float32, torch.float64"):
        stacked(parts, "dense", None)


def test_a_stack_that_may_be_lazy_keeps_each_dtype():
    parts = [value(torch.float32), value(torch.float64)]
    rows = stacked(parts, "maybe_dense", None).unbind(0)
    assert [row["x"].dtype for row in rows] == [torch.float32, torch.float64]
