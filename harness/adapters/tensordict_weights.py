"""Reads stamps out of what the probe policy wrote, for every backend that returns TensorDicts."""

from __future__ import annotations

from typing import Any

from harness.ports.weights import Stamp


def stamps(batch: Any) -> list[Stamp]:
    """One stamp a frame of a batch of any shape."""
    columns = (
        batch.get(key).detach().reshape(-1).tolist()
        for key in ("observation", "first", "last", "buffer")
    )
    return [
        Stamp(worker=round(worker), first=round(first), last=round(last), buffer=round(buffer))
        for worker, first, last, buffer in zip(*columns, strict=True)
    ]
