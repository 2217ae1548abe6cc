"""The reference implementation as a backend; its parts are parameters, so that wrong variants fit too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Any, get_args

from harness.adapters._reference_ends import close_ends, transfer_ends
from harness.adapters._reference_storage import storage_port_of
from harness.adapters._reference_weights import SCHEMES, weights_port_of
from harness.adapters.tensordict_entries import MARK
from harness.adapters.tensordict_pool import EXTRAS, WATCHES, Dialect, pool_port
from harness.payloads.tensordict_env import ENDS, PAYLOADS, STATISTICS_FRAMES, env_makers
from harness.ports.backend import Backend, Hook, own_bound
from harness.ports.pool import (
    START_METHODS,
    Channel,
    ChannelEnd,
    Close,
    End,
    EnvFactory,
    EnvsPerWorker,
    PoolCapabilities,
    PoolPort,
    PoolSetup,
    Word,
)
from harness.ports.pool_verbs import LENDING, OPTIONAL
from reference_impl.pool import AsyncEnvPool, Reinit

_PUBLIC = frozenset({"commands/owner/public", "results/owner/public"})
_READER = frozenset({"commands/owner/reader", "results/owner/reader"})
POOL_CAPABILITIES = PoolCapabilities(
    verbs=OPTIONAL - {LENDING},
    setup={
        "transport": frozenset({"thread", "process"}),
        "stack": frozenset({"dense", "maybe_dense", "lazy"}),
        "start_method": START_METHODS,
        "host": frozenset({"bare", "transformed", "collector"}),
        "payload": PAYLOADS,
        "ends": ENDS,
        "extras": EXTRAS,
        "watch": WATCHES,
        "on_worker_failure": frozenset({"raise", "restart"}),
        "child": frozenset({"bare", "normalised", "gymnasium"}),
    },
    promises_forms=True,
    mark=MARK,
    channels={"process": frozenset({*_PUBLIC, *_READER}), "thread": _PUBLIC},
    transfers=dict.fromkeys(("process", "thread"), frozenset({"commands", "results"})),
)
_EXCHANGES = {"value": "queue", "slots": "shm", "auto": "auto"}  # the pool's words for ours
# Wrong variants of the pool go by value, with an env a worker, where the parts are that they replace.
ENVS_PER_WORKER: frozenset[Word] = frozenset(get_args(EnvsPerWorker))
_WITH_SLOTS = replace(
    POOL_CAPABILITIES,
    verbs=OPTIONAL,
    setup={
        **POOL_CAPABILITIES.setup,
        "exchange": frozenset(_EXCHANGES),
        "envs_per_worker": ENVS_PER_WORKER,
    },
)
MAX_RESTARTS = 3
# All of its channels' input and output goes through these two functions.
HOOKS = (
    Hook(target="reference_impl.core.channel:send", transfer="put"),
    Hook(target="reference_impl.core.channel:recv", transfer="get"),
)


def _channel(pool: Any, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
    """The owner's ends; a duplex one carries both commands and results."""
    return close_ends(pool.channels()[channel] if end == "owner" else [], how)


def _transfer_ends(pool: Any, channel: Channel, end: End) -> list[Any]:
    return transfer_ends(pool.channels()[channel], end, apart=pool.backend == "multiprocessing")


def _pids_by_env(pool: Any) -> list[int]:
    pids, count = pool.worker_pids, pool.envs_per_worker
    return [pids[env // count] for env in range(pool.num_envs)] if pids else []


def _makers(factories: Sequence[EnvFactory], child: str) -> list[Callable[[], Any]]:
    """What makes the pool's children: gymnasium envs, or those of torchrl's vocabulary."""
    if child != "gymnasium":
        return [*env_makers(factories, child)]
    from harness.adapters._gymnasium_env import GymnasiumProbe  # others need no gymnasium

    return [partial(GymnasiumProbe, factory) for factory in factories]


def pool_port_of(
    make_pool: Callable[..., Any], capabilities: PoolCapabilities = POOL_CAPABILITIES
) -> PoolPort:
    """The port of the reference's pool, or of a variant that is made with the same arguments."""

    def build(setup: PoolSetup, factories: Sequence[EnvFactory], deadline_s: float) -> Any:
        return make_pool(
            _makers(factories, setup.child),
            backend="threading" if setup.transport == "thread" else "multiprocessing",
            stack=setup.stack,
            exchange=_EXCHANGES[setup.exchange],
            envs_per_worker=setup.envs_per_worker,
            start_method=setup.start_method,
            on_worker_failure=setup.on_worker_failure,
            max_restarts=MAX_RESTARTS,
            shutdown_timeout=own_bound(deadline_s),
            start_timeout=own_bound(setup.start_within_s),
        )

    dialect = Dialect(
        build=build,
        worker_pids=_pids_by_env,
        channel=_channel,
        transfer_ends=_transfer_ends,
        reinit=lambda: Reinit(transform="ObservationNorm", kwargs={"num_iter": STATISTICS_FRAMES}),
    )
    return pool_port(capabilities, dialect)


def _version() -> str:
    try:
        return metadata.version("rl-fault-harness")
    except metadata.PackageNotFoundError:  # it runs from a checkout
        return "0"


backend = Backend(
    name="reference",
    version=_version,
    packages=("torch", "tensordict", "torchrl"),
    preload=("reference_impl.pool", "reference_impl.weights", "reference_impl.storage"),
    hooks=HOOKS,
    pool=pool_port_of(AsyncEnvPool, _WITH_SLOTS),
    weights=weights_port_of(SCHEMES),
    storage=storage_port_of(),
)
