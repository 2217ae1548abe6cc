"""The torchrl backend: its `AsyncEnvPool`, and a `MultiSyncCollector` with its weight sync schemes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from tensordict import TensorDict
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import AsyncEnvPool
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme

from harness.adapters.tensordict_entries import MARK
from harness.adapters.tensordict_pool import EXTRAS, WATCHES, Dialect, pool_port
from harness.adapters.tensordict_weights import stamps
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
from harness.ports.pool_verbs import OPTIONAL
from harness.ports.weights import (
    Defect,
    PolicyFactory,
    Stamp,
    WeightsCapabilities,
    WeightsPort,
    WeightsSetup,
)

_EXCHANGES = {"value": "queue", "slots": "shm", "auto": "auto"}
_RESULT_QUEUES = ("step_queue", "reset_queue", "step_reset_queue")
_RESULT_QUEUE_LISTS = (
    "_per_env_step_queues",
    "_per_env_reset_queues",
    "_per_env_step_reset_queues",
)
_SCHEMES = {"copy": MultiProcessWeightSyncScheme, "shared": SharedMemWeightSyncScheme}


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


@dataclass(frozen=True, slots=True)
class _Reader:
    """The reading end of a queue's pipe, closed behind the queue's back."""

    connection: Any

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return bool(self.connection.closed)

    def close(self) -> None:
        """Close the file descriptor."""
        self.connection.close()


@dataclass(frozen=True, slots=True)
class _PublicQueue:
    """A queue that is closed as its documentation says."""

    queue: Any

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return bool(self.queue._closed)  # noqa: SLF001 - a queue has no public way to tell

    def close(self) -> None:
        """Call the queue's own `close`."""
        self.queue.close()


def _result_queues(pool: Any) -> list[Any]:
    queues = [getattr(pool, name) for name in _RESULT_QUEUES if hasattr(pool, name)]
    for name in _RESULT_QUEUE_LISTS:
        queues += getattr(pool, name, ())
    return queues


def _channel(pool: Any, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
    """The owner's ends of whichever result queues this pool has."""
    if channel != "results" or end != "owner":
        return []
    queues = _result_queues(pool)
    if how == "public":
        return [_PublicQueue(queue) for queue in queues]
    return [_Reader(queue._reader) for queue in queues]  # noqa: SLF001 - the fault is on the pipe


class CollectorWeights:
    """A trainer's policy and a collector whose batches are one forward a worker."""

    def __init__(self, setup: WeightsSetup, factory: PolicyFactory, deadline_s: float) -> None:
        multiprocessing.set_start_method(setup.start_method, force=True)
        self._factory = factory
        self._deadline_s = deadline_s
        self._policy = factory()
        self._collector = MultiSyncCollector(
            factory.env_makers(setup.num_workers),
            self._policy,
            frames_per_batch=setup.num_workers,
            total_frames=-1,
            cat_results="stack",
            weight_sync_schemes={"policy": _SCHEMES[setup.scheme]()},
        )
        self._batches = iter(self._collector)

    def forward(self) -> list[Stamp]:
        """The next batch: one frame a worker."""
        return stamps(next(self._batches))

    def mutate(self, version: int) -> None:
        """Fill the trainer's own parameters in place."""
        self._factory.fill(self._policy, version)

    def send(self, version: int, *, fresh: bool, defect: Defect | None) -> None:
        """`update_policy_weights_`, with fresh weights or with the trainer's own."""
        if fresh or defect is not None:
            weights = self._factory.weights(version, defect)
            self._collector.update_policy_weights_(TensorDict(weights, batch_size=[]))
            return
        self._factory.fill(self._policy, version)
        self._collector.update_policy_weights_()

    def close(self) -> None:
        """Shut the collector down within the scenario's deadline."""
        self._collector.shutdown(timeout=self._deadline_s)

    def worker_pids(self) -> list[int]:
        """The worker processes, by worker."""
        return [process.pid for process in self._collector.procs]


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


_make_weights: Callable[[WeightsSetup, PolicyFactory, float], CollectorWeights] = CollectorWeights

backend = Backend(
    name="torchrl",
    version=_version,
    packages=("torch", "tensordict", "torchrl"),
    preload=("torchrl.envs", "torchrl.collectors", "torchrl.weight_update"),
    pool=pool_port(
        PoolCapabilities(
            verbs=OPTIONAL - PARAMS,  # it has no call that reaches into its envs
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
            mark=MARK,
            writes_input=frozenset({"env_index"}),
            channels={"process": frozenset({"results/owner/reader", "results/owner/public"})},
            transfers={"process": frozenset({"commands", "results"})},
            once=frozenset({"commands", "results"}),
        ),
        dialect,
    ),
    weights=WeightsPort(
        capabilities=WeightsCapabilities(
            setup={"scheme": frozenset({"copy", "shared"}), "start_method": START_METHODS}
        ),
        make=_make_weights,
    ),
)
