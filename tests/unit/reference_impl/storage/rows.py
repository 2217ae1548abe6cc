"""Rows that say who wrote them, and what tests do with them."""

from __future__ import annotations

import torch
from tensordict import TensorDict

WIDE = 500


def rows(first: int, number: int, *inner: int) -> TensorDict:
    """A batch [number, *inner] whose entries all follow from the number of the row."""
    stamp = torch.arange(first, first + number).view(number, *(1,) * len(inner))
    stamp = stamp.expand(number, *inner).contiguous()
    wide = stamp.unsqueeze(-1).expand(*stamp.shape, WIDE).contiguous()
    return TensorDict(
        {
            "stamp": stamp,
            "wide": wide,
            "next": {"stamp": stamp + 1, "done": (stamp % 5 == 4).unsqueeze(-1)},
        },
        [number, *inner],
    )


def stamps(data: TensorDict) -> list[int]:
    """The numbers of rows that are whole."""
    stamp = data["stamp"]
    assert bool((data["wide"] == stamp.unsqueeze(-1)).all()), "torn"
    assert torch.equal(data["next", "stamp"], stamp + 1), "torn"
    found: list[int] = stamp.tolist()
    return found
