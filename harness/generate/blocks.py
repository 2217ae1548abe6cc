"""All blocks that scenarios of the pool are drawn from.

A block finds every env reset and idle, and leaves it so; an ending shuts the pool down, or leaves it. So any
sequence of blocks with one ending is a valid scenario, and stays one while it is shrunk.
"""

from __future__ import annotations

from harness.generate import (
    blocks_calls,
    blocks_items,
    blocks_leaving,
    blocks_lifetimes,
    blocks_params,
    blocks_resources,
    blocks_workers,
)
from harness.generate.ground import Form

PLAIN_ENDING = blocks_calls.SHUTDOWN
BLOCKS: tuple[Form, ...] = (
    *blocks_calls.BLOCKS,
    *blocks_lifetimes.BLOCKS,
    *blocks_workers.BLOCKS,
    *blocks_items.BLOCKS,
    *blocks_resources.BLOCKS,
    *blocks_params.BLOCKS,
)
ENDINGS: tuple[Form, ...] = (
    PLAIN_ENDING,
    *blocks_workers.ENDINGS,
    *blocks_items.ENDINGS,
    *blocks_leaving.ENDINGS,
    *blocks_lifetimes.ENDINGS,
    *blocks_resources.ENDINGS,
)
