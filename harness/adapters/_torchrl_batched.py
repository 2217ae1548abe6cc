"""What the adapters of torchrl's two batched envs share: `ParallelEnv` and `SerialEnv` in its own vocabulary."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from harness.adapters.tensordict_pool import EXTRAS, WATCHES, Dialect, pool_port
from harness.payloads.tensordict_env import ENDS, PAYLOADS
from harness.ports.backend import Backend
from harness.ports.entries import COMPARABLE
from harness.ports.pool import Channel, PoolCapabilities, Transport

USE_BUFFERS = {"value": False, "slots": True, "auto": None}
_WAITING = frozenset(verb for verb in COMPARABLE if not verb.startswith("compare_async"))
_HOSTS = frozenset({"bare", "transformed", "collector"})


def close(env: Any) -> None:
    """Close as torchrl wants to be asked where closing twice is to be no error."""
    env.close(raise_if_closed=False)


def backend_of(
    name: str,
    setup: Mapping[str, frozenset[str]],
    dialect: Dialect,
    transfers: Mapping[Transport, frozenset[Channel]] | None = None,
) -> Backend:
    """The backend of one of the two; `setup` is what it accepts that the other does not."""
    capabilities = PoolCapabilities(
        verbs=frozenset({"reset_where", "seed", "rollout"}) | _WAITING,
        setup={
            "exchange": frozenset(USE_BUFFERS),
            "host": _HOSTS,
            "payload": PAYLOADS,
            "ends": ENDS,
            "extras": EXTRAS,
            "watch": WATCHES,
            **setup,
        },
        promises_forms=True,
        transfers=transfers or {},
        once=frozenset({"commands", "results"}),
        writes_input=frozenset({"next", "root"}),
    )
    return Backend(
        name=name,
        version=functools.partial(version, "torchrl"),
        packages=("torch", "tensordict", "torchrl"),
        preload=("torchrl.envs", "torchrl.collectors"),
        pool=pool_port(capabilities, dialect),
    )
