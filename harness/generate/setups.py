"""Setups of small pools, in combinations that exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from harness.generate.derive import choices, drawn
from harness.payloads.forms import LANES
from harness.ports.pool import PoolCapabilities, PoolSetup, Word

NUM_ENVS = (2, 3, 2, 3, 1)  # much needs two
CHILDREN_MAX = 2  # of several envs each
# How often a word comes, against the others of its key; the first is the simplest.
WEIGHTS: Mapping[str, Mapping[Word, int]] = {
    "transport": {"thread": 1, "process": 2},  # more can befall processes
    "exchange": {"value": 3},  # where items are that can be struck
    "stack": {"dense": 3},
    "host": {"bare": 4},  # most blocks need a bare pool
    # The others start an interpreter, which takes seconds.
    "start_method": {"fork": 1, "spawn": 0, "forkserver": 0},
    "payload": {"plain": 10, "huge": 0},  # 2 MB an observation take seconds in many steps
    "built": {"alone": 4},
    "envs_per_worker": {1: 12},  # most faults strike an env that has a worker to itself
    "factory": {"plain": 4},
}


def setups(capabilities: PoolCapabilities) -> SearchStrategy[PoolSetup]:
    """Setups of small pools whose choices of words the backend declares."""
    accepted: dict[str, SearchStrategy[Any]] = {}
    for name in choices(PoolSetup):
        words = declared(name, capabilities)
        if name == "host" and "rollout" not in capabilities.verbs:
            words = [word for word in words if word != "collector"]
        weights = WEIGHTS.get(name, {})
        accepted[name] = st.sampled_from(
            [word for word in _ordered(words, weights) for _ in range(weights.get(word, 1))]
        )
    return drawn(PoolSetup, num_envs=st.sampled_from(NUM_ENVS), **accepted).map(_fitting)


def declared(name: str, capabilities: PoolCapabilities) -> list[Word]:
    """The words of a key that the backend has: those that it declares, or else the default."""
    words = choices(PoolSetup)[name]
    unsaid = words if name in PoolSetup.OURS else words[:1]
    return [word for word in words if word in capabilities.setup.get(name, unsaid)]


def _ordered(words: Sequence[Word], weights: Mapping[Word, int]) -> list[Word]:
    """The words that have weights first, in their order: the first is what examples shrink to."""
    return [*(word for word in weights if word in words), *(w for w in words if w not in weights)]


def _fitting(setup: PoolSetup) -> PoolSetup:
    """The nearest combination that exists; what only `compare` and parameters look at stays as it is."""
    setup = replace(setup, extras="none", watch="calls", on_worker_failure="raise", child="bare")
    if setup.transport == "thread":  # they are started in one way only, and share all memory
        setup = replace(setup, start_method="fork", exchange="value")
    if setup.payload == "differing":  # what is not alike is neither stacked nor laid out in slots
        stack = "maybe_dense" if setup.stack == "dense" else setup.stack
        setup = replace(_without_collector(setup), stack=stack, exchange="value")
    if setup.payload in LANES:
        children = min(setup.num_envs, CHILDREN_MAX)
        count = children * LANES[setup.payload]
        setup = replace(_without_collector(setup), num_envs=count)
    return setup


def _without_collector(setup: PoolSetup) -> PoolSetup:
    """A collector stacks steps, and its policy knows of plain children only."""
    return replace(setup, host="bare") if setup.host == "collector" else setup
