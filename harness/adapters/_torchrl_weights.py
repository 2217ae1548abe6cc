"""torchrl's weight sync schemes, each inside one of its multi-process collectors."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any, assert_never

from tensordict import TensorDict
from torchrl.collectors import MultiAsyncCollector, MultiSyncCollector
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme

from harness.adapters._torchrl_ends import close_ends
from harness.adapters.tensordict_weights import stamps
from harness.ports.backend import own_bound
from harness.ports.clock import now_ns
from harness.ports.pool import START_METHODS, Channel, ChannelEnd, Close, End
from harness.ports.weights import (
    Defect,
    Misuse,
    Model,
    PolicyFactory,
    Stamp,
    WeightsCapabilities,
    WeightsPort,
    WeightsSetup,
)

SCHEMES = {"copy": MultiProcessWeightSyncScheme, "shared": SharedMemWeightSyncScheme}
CAPABILITIES = WeightsCapabilities(
    verbs=frozenset(
        {
            "send_some",
            "misuse_unknown_worker",
            "misuse_unknown_model",
            "misuse_before_setup",
            "misuse_before_connect",
        }
    ),
    setup={
        "scheme": frozenset(SCHEMES),
        "start_method": START_METHODS,
        "host": frozenset({"own", "sync_collector", "async_collector"}),
        "strategy": frozenset({"tensordict", "state_dict"}),
    },
    channels={"process": frozenset({"results/owner/reader", "results/owner/public"})},
    transfers={"process": frozenset({"commands", "results"})},
    once=frozenset(
        {"commands", "results"}
    ),  # both are queues, which count their items beside the pipe
)
_LABEL = ("next", "policy_version")  # at the root it is the one before
NOBODY = 99  # a worker that is not there


class CollectorWeights:
    """A trainer's policy and a collector whose batches are one forward a worker."""

    def __init__(self, setup: WeightsSetup, factory: PolicyFactory, deadline_s: float) -> None:
        multiprocessing.set_start_method(setup.start_method, force=True)
        self._setup = setup
        self._factory = factory
        self._deadline_s = deadline_s
        self._policy = factory()
        self._scheme = self._make_scheme()
        several = setup.host == "async_collector"
        make = MultiAsyncCollector if several else MultiSyncCollector
        self._collector = make(
            factory.env_makers(setup.num_workers),
            self._policy,
            frames_per_batch=1 if several else setup.num_workers,
            total_frames=-1,
            **({} if several else {"cat_results": "stack"}),
            weight_sync_schemes={"policy": self._scheme},
            track_policy_version=True,
        )
        self._batches = iter(self._collector)

    def forward(self, workers: Sequence[int] | None = None) -> list[Stamp]:
        """The next batch, one frame a worker; of the asynchronous collector, batches until each has begun one since."""
        assert workers is None
        if self._setup.host != "async_collector":
            return self._next()
        since, found = now_ns(), list[Stamp]()
        while {s.worker for s in found if s.began_ns >= since} != set(
            range(self._setup.num_workers)
        ):
            found += self._next()
        return found

    def mutate(self, version: int) -> None:
        """Fill the trainer's own parameters in place."""
        self._factory.fill(self._policy, version)

    def send(
        self,
        version: int,
        *,
        fresh: bool,
        defect: Defect | None,
        workers: Sequence[int] | None = None,
        model: Model = "policy",
    ) -> None:
        """`update_policy_weights_`, with fresh weights or with the trainer's own."""
        weights = None
        if fresh or defect is not None:
            weights = self._weights(version, defect, model)
        else:
            self._factory.fill(self._policy, version)
        some = {} if workers is None else {"worker_ids": list(workers)}
        self._collector.update_policy_weights_(weights, **some)

    def misuse(self, what: Misuse) -> None:
        """Make a call that has to be refused."""
        weights = self._weights(0, None, "policy")
        match what:
            case "unknown_worker":
                self._collector.update_policy_weights_(weights, worker_ids=[NOBODY])
            case "unknown_model":
                self._collector.update_policy_weights_(weights, model_id="nobody")
            case "before_setup":
                self._make_scheme().send(weights)
            case "before_connect":
                scheme = self._make_scheme()
                try:
                    scheme.init_on_sender(model_id="policy", weights=weights, devices=["cpu"])
                    scheme.send(weights)
                finally:
                    scheme.shutdown()
            case "worker_twice" | "no_worker" | "weights_and_model":
                raise NotImplementedError(what)
            case _:
                assert_never(what)

    def channel(self, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
        """The owner's ends of the ack queues."""
        return close_ends(self._queues(channel) if end == "owner" else [], how)

    def transfer_ends(self, channel: Channel, _: End) -> list[int]:
        """Acks are read from pipes, instructions written to them."""
        if channel == "results":
            return [queue._reader.fileno() for queue in self._queues(channel)]  # noqa: SLF001 - no public way
        return [queue._writer.fileno() for queue in self._queues(channel)]  # noqa: SLF001 - no public way

    def close(self) -> None:
        """Shut the collector down within the scenario's deadline."""
        self._collector.shutdown(timeout=own_bound(self._deadline_s))

    def worker_pids(self) -> list[int]:
        """The worker processes, by worker."""
        return [process.pid for process in self._collector.procs]

    def _next(self) -> list[Stamp]:
        return stamps(next(self._batches), {"label": _LABEL})

    def _weights(self, version: int, defect: Defect | None, model: Model) -> Any:
        weights = self._factory.weights(version, defect, model)
        return (
            weights if self._setup.strategy == "state_dict" else TensorDict(weights, batch_size=[])
        )

    def _make_scheme(self) -> Any:
        return SCHEMES[self._setup.scheme](strategy=self._setup.strategy)

    def _queues(self, channel: Channel) -> list[Any]:
        by_worker = (
            self._scheme._ack_queues if channel == "results" else self._scheme._instruction_queues  # noqa: SLF001 - no public way
        )
        return [queue for _, queue in sorted(by_worker.items())]


WEIGHTS = WeightsPort(capabilities=CAPABILITIES, make=CollectorWeights)
