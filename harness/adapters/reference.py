"""The reference implementation as a backend; its parts are parameters, so that wrong variants fit too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, get_args

import torch
from tensordict import TensorDict

from harness.adapters.tensordict_entries import MARK
from harness.adapters.tensordict_pool import EXTRAS, WATCHES, Dialect, pool_port
from harness.adapters.tensordict_weights import stamps
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
from harness.ports.pool_verbs import OPTIONAL
from harness.ports.weights import (
    Defect,
    PolicyFactory,
    Stamp,
    WeightsCapabilities,
    WeightsPort,
    WeightsSetup,
)
from reference_impl.core import channel as channels
from reference_impl.pool import AsyncEnvPool, Reinit
from reference_impl.weights import MultiProcessWeightSyncScheme, PolicyWorkers

_PUBLIC = frozenset({"commands/owner/public", "results/owner/public"})
_READER = frozenset({"commands/owner/reader", "results/owner/reader"})
POOL_CAPABILITIES = PoolCapabilities(
    verbs=OPTIONAL,
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
        "child": frozenset({"bare", "normalised"}),
    },
    mark=MARK,
    channels={"process": frozenset({*_PUBLIC, *_READER}), "thread": _PUBLIC},
    transfers=dict.fromkeys(("process", "thread"), frozenset({"commands", "results"})),
)
_EXCHANGES = {"value": "queue", "slots": "shm", "auto": "auto"}  # the pool's words for ours
# Wrong variants of the pool go by value, with an env a worker, where the parts are that they replace.
ENVS_PER_WORKER: frozenset[Word] = frozenset(get_args(EnvsPerWorker))
_WITH_SLOTS = replace(
    POOL_CAPABILITIES,
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
WEIGHTS_CAPABILITIES = WeightsCapabilities(
    setup={"scheme": frozenset({"copy"}), "start_method": START_METHODS}
)


@dataclass(frozen=True, slots=True)
class _Connection:
    """The connection below an end, closed behind the end's back."""

    connection: Any

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return bool(self.connection.closed)

    def close(self) -> None:
        """Close the file descriptor."""
        self.connection.close()


@dataclass(frozen=True, slots=True)
class _End:
    """An end that is closed by the channel's own function."""

    end: channels.End

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self.end.closed

    def close(self) -> None:
        """Close it."""
        channels.close(self.end)


def _channel(pool: Any, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
    """The owner's ends; a duplex one carries both commands and results."""
    ends = pool.channels()[channel] if end == "owner" else []
    if how == "public":
        return [_End(each) for each in ends]
    return [_Connection(each._connection) for each in ends]  # noqa: SLF001 - the fault is on the pipe


def _transfer_ends(pool: Any, channel: Channel, end: End) -> list[Any]:
    """Sockets by their descriptors; the ends of threads, which have none, by themselves."""
    ends = pool.channels()[channel]
    if pool.backend == "multiprocessing":
        return [each.fileno() for each in ends]
    return list(ends) if end == "owner" else [each._peer for each in ends]  # noqa: SLF001 - the worker's


def _pids_by_env(pool: Any) -> list[int]:
    pids, count = pool.worker_pids, pool.envs_per_worker
    return [pids[env // count] for env in range(pool.num_envs)] if pids else []


def pool_port_of(
    make_pool: Callable[..., Any], capabilities: PoolCapabilities = POOL_CAPABILITIES
) -> PoolPort:
    """The port of the reference's pool, or of a variant that is made with the same arguments."""

    def build(setup: PoolSetup, factories: Sequence[EnvFactory], deadline_s: float) -> Any:
        return make_pool(
            env_makers(factories, setup.child),
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


class SchemeWeights:
    """A trainer's policy, a scheme, and workers that run one forward a command."""

    def __init__(
        self,
        make_scheme: Callable[[], Any],
        setup: WeightsSetup,
        factory: PolicyFactory,
        deadline_s: float,
    ) -> None:
        self._factory = factory
        self._deadline_s = deadline_s
        self._policy = factory()
        self._scheme = make_scheme()
        self._scheme.init_on_sender(model=self._policy, num_workers=setup.num_workers)
        self._workers = PolicyWorkers(
            factory,
            setup.num_workers,
            scheme=self._scheme,
            start_method=setup.start_method,
            start_timeout=setup.start_within_s,
            shutdown_timeout=deadline_s,
        )

    def forward(self) -> list[Stamp]:
        """One forward a worker, each with an observation that names the worker."""
        found: list[Stamp] = []
        for worker in range(self._workers.num_workers):
            observation = torch.tensor([float(worker)])
            given = TensorDict({"observation": observation}, batch_size=[])
            for result in self._workers.forward(given, worker_ids=worker):
                found += stamps(result)
        return found

    def mutate(self, version: int) -> None:
        """Fill the trainer's own parameters in place."""
        self._factory.fill(self._policy, version)

    def send(self, version: int, *, fresh: bool, defect: Defect | None) -> None:
        """Send fresh weights, or the trainer's own."""
        weights = None
        if fresh or defect is not None:
            weights = self._factory.weights(version, defect)
        else:
            self._factory.fill(self._policy, version)
        self._scheme.send(weights, timeout=self._deadline_s)

    def close(self) -> None:
        """Close the workers, and the scheme with them."""
        self._workers.close()

    def worker_pids(self) -> list[int]:
        """The worker processes, by worker."""
        return self._workers.worker_pids


def weights_port_of(make_scheme: Callable[[], Any]) -> WeightsPort:
    """The port of the reference's weight sync, or of a variant of its scheme."""

    def make(setup: WeightsSetup, factory: PolicyFactory, deadline_s: float) -> SchemeWeights:
        return SchemeWeights(make_scheme, setup, factory, deadline_s)

    return WeightsPort(capabilities=WEIGHTS_CAPABILITIES, make=make)


def _version() -> str:
    try:
        return metadata.version("rl-fault-harness")
    except metadata.PackageNotFoundError:  # it runs from a checkout
        return "0"


backend = Backend(
    name="reference",
    version=_version,
    packages=("torch", "tensordict", "torchrl"),
    preload=("reference_impl.pool", "reference_impl.weights"),
    hooks=HOOKS,
    pool=pool_port_of(AsyncEnvPool, _WITH_SLOTS),
    weights=weights_port_of(MultiProcessWeightSyncScheme),
)
