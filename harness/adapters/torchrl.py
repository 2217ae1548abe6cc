"""The torchrl backend: its `AsyncEnvPool`, and a `MultiSyncCollector` with its weight sync schemes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from torchrl.envs import AsyncEnvPool

from harness.adapters import _torchrl_storage
from harness.adapters._torchrl_ends import close_ends
from harness.adapters._torchrl_weights import WEIGHTS
from harness.adapters.tensordict_entries import MARK
from harness.adapters.tensordict_pool import EXTRAS, WATCHES, Dialect, pool_port
from harness.payloads.tensordict_env import ENDS, PAYLOADS, env_makers
from harness.ports.backend import Backend, own_bound
from harness.ports.param_verbs import PARAMS
from harness.ports.pool import (
    START_METHODS,
    Channel,
    ChannelEnd,
    Close,
    End,
    EnvFactory,
    PoolCapabilities,
    PoolSetup,
)
from harness.ports.pool_verbs import LENDING, OPTIONAL

_EXCHANGES = {"value": "queue", "slots": "shm", "auto": "auto"}
_RESULT_QUEUES = ("step_queue", "reset_queue", "step_reset_queue")
_RESULT_QUEUE_LISTS = (
    "_per_env_step_queues",
    "_per_env_reset_queues",
    "_per_env_step_reset_queues",
)


def _build(setup: PoolSetup, factories: Sequence[EnvFactory], deadline_s: float) -> Any:
    """An `AsyncEnvPool`, its own shutdown bound (60 s by default) set to fit the deadline."""
    makers = env_makers(factories)
    if setup.transport == "thread":
        exchange = None if setup.exchange == "value" else _EXCHANGES[setup.exchange]
        return AsyncEnvPool(makers, backend="threading", stack=setup.stack, exchange=exchange)
    multiprocessing.set_start_method(setup.start_method, force=True)  # it takes the default context
    pool = AsyncEnvPool(
        makers,
        backend="multiprocessing",
        stack=setup.stack,
        exchange=_EXCHANGES[setup.exchange],
    )
    pool._SHUTDOWN_TIMEOUT = own_bound(deadline_s)  # noqa: SLF001 - the only knob that torchrl has for it
    return pool


def _worker_pids(pool: Any) -> list[int]:
    """`threads` are processes in a pool of processes; a pool of threads has no such attribute."""
    return [process.pid for process in getattr(pool, "threads", ())]


def _result_queues(pool: Any) -> list[Any]:
    queues = [getattr(pool, name) for name in _RESULT_QUEUES if hasattr(pool, name)]
    for name in _RESULT_QUEUE_LISTS:
        queues += getattr(pool, name, ())
    return queues


def _channel(pool: Any, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
    """The owner's ends of whichever result queues this pool has."""
    if channel != "results" or end != "owner":
        return []
    return close_ends(_result_queues(pool), how)


def _transfer_ends(pool: Any, channel: Channel, _: End) -> list[int]:
    """Results are read from pipes, commands written to them."""
    if channel == "results":
        return [queue._reader.fileno() for queue in _result_queues(pool)]  # noqa: SLF001 - no public way
    return [queue._writer.fileno() for queue in pool.input_queue]  # noqa: SLF001 - no public way


def _remarks(setup: PoolSetup, deadline_s: float) -> tuple[str, ...]:
    if setup.transport == "thread":
        return ()
    return (f"_SHUTDOWN_TIMEOUT is set to {own_bound(deadline_s):g} s; torchrl's default is 60 s",)


dialect = Dialect(
    build=_build,
    worker_pids=_worker_pids,
    channel=_channel,
    transfer_ends=_transfer_ends,
    remarks=_remarks,
)


def _version() -> str:
    return version("torchrl")


backend = Backend(
    name="torchrl",
    version=_version,
    packages=("torch", "tensordict", "torchrl"),
    preload=("torchrl.envs", "torchrl.collectors", "torchrl.weight_update", "torchrl.data"),
    pool=pool_port(
        PoolCapabilities(
            verbs=OPTIONAL
            - PARAMS
            - {LENDING},  # it lends nothing, and has no call that reaches into its envs
            setup={
                "transport": frozenset({"thread", "process"}),
                "exchange": frozenset({"value", "slots", "auto"}),
                "stack": frozenset({"dense", "maybe_dense", "lazy"}),
                "start_method": START_METHODS,
                "host": frozenset({"bare", "transformed", "collector"}),
                "payload": PAYLOADS,
                "ends": ENDS,
                "extras": EXTRAS,
                "watch": WATCHES,
            },
            promises_forms=True,
            mark=MARK,
            writes_input=frozenset({"env_index"}),
            channels={"process": frozenset({"results/owner/reader", "results/owner/public"})},
            transfers={"process": frozenset({"commands", "results"})},
            once=frozenset({"commands", "results"}),
        ),
        dialect,
    ),
    weights=WEIGHTS,
    storage=_torchrl_storage.port,
)
