"""What the most able pool that can be declared declares."""

from __future__ import annotations

from dataclasses import replace

from harness.generate.derive import choices
from harness.ports.pool import PoolCapabilities, PoolSetup
from harness.ports.pool_verbs import OPTIONAL

_ENDS = frozenset(
    f"{channel}/{end}/{how}"
    for channel in ("commands", "results")
    for end in ("owner", "worker")
    for how in ("reader", "public")
)
EVERYTHING = PoolCapabilities(
    verbs=OPTIONAL,
    setup={name: frozenset(words) for name, words in choices(PoolSetup).items()},
    channels={"process": _ENDS, "thread": _ENDS},
    transfers={each: frozenset({"commands", "results"}) for each in ("process", "thread")},
    promises_forms=True,
)
BARE = replace(EVERYTHING, setup={})
SLOTS = replace(EVERYTHING, setup={"exchange": frozenset({"slots"})})
NEXT_STEP = replace(BARE, autoreset="next_step")
LEAST = PoolCapabilities()
