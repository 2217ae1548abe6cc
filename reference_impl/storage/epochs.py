"""Drawing each row once before any again, from slots some of which have no row.

torchrl's `SamplerWithoutReplacement` counts slots: it takes the first of a list of all of them, in any order.
What has no row is taken out of that list here, so that an epoch is of the rows that there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torchrl.data import SamplerWithoutReplacement, SliceSampler

if TYPE_CHECKING:
    from reference_impl.storage.view import View


def draws_rows_once(sampler: Any) -> bool:
    """Return whether it is one that `draw` is for; one that draws trajectories once finds none across such slots."""
    return isinstance(sampler, SamplerWithoutReplacement) and not isinstance(sampler, SliceSampler)


def draw(
    sampler: SamplerWithoutReplacement, view: View, number: int
) -> tuple[Any, dict[str, Any]] | None:
    """Return what the sampler draws, indices that can be read, and what it says of them.

    At the end of an epoch they are fewer, or as many as asked for where it drops the last ones, as it does without
    such slots; None: in what was left of the epoch there was nothing to be drawn, and the next has begun.
    """
    # It throws away what is left where that makes no batch: asked for one row, it keeps what may make one here.
    asked = 1 if sampler.drop_last and view.closed_rows else number
    index, info = sampler.sample(view, asked)
    if not view.closed_rows:
        return index, info
    state = sampler.state_dict()
    elements = view.elements_of(index)
    # Of an epoch that has ended there is nothing left: what is in the list is the next one's.
    left = elements[:0] if sampler.ran_out else state["_sample_list"]
    least = number if sampler.drop_last else 1
    is_tail = 0 < len(left) < least + view.closed_rows * view.each  # nothing in it may have a row
    if asked == number and not is_tail and view.closed(view.rows_of(index)) is None:
        return index, info
    every = torch.cat((elements, left))
    closed = view.closed(every // view.each)
    if closed is not None:
        every = every[~closed]
    taken, left = every[:number], every[number:]
    ended = len(left) < least
    sampler.load_state_dict({**state, "_sample_list": None if ended else left, "_ran_out": ended})
    if len(taken) < least:
        return None
    return (torch.unravel_index(taken, view.shape) if isinstance(index, tuple) else taken), info
