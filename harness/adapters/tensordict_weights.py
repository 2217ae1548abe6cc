"""Reads stamps out of what the probe policy wrote, for every backend that returns TensorDicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.ports.weights import Stamp

COLUMNS = ("observation", "first", "last", "buffer")


def stamps(batch: Any, more: Mapping[str, Any] | None = None) -> list[Stamp]:
    """One stamp a frame of a batch of any shape; `more` says which entries have a stamp's optional fields."""
    columns = (batch.get(key).detach().reshape(-1).tolist() for key in COLUMNS)
    began = batch.get("began").reshape(-1).tolist()
    found = [
        Stamp(
            worker=round(worker),
            first=round(first),
            last=round(last),
            buffer=round(buffer),
            began_ns=at,
        )
        for (worker, first, last, buffer), at in zip(zip(*columns, strict=True), began, strict=True)
    ]
    for field, key in (more or {}).items():
        column = batch.get(key).detach().reshape(-1).tolist()
        found = [
            replace(stamp, **{field: round(value)})
            for stamp, value in zip(found, column, strict=True)
        ]
    return found
