"""Weight sync schemes inside torchrl's multi-process collectors: torchrl's own, and those that take their place."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from tensordict import TensorDict, TensorDictBase
from torch import nn
from torchrl.collectors import MultiAsyncCollector, MultiSyncCollector
from torchrl.data import LazyTensorStorage, ReplayBuffer

from harness.adapters._schemes_set_up import held_after_set_up
from harness.adapters._torchrl_ends import close_ends
from harness.adapters.tensordict_weights import stamps
from harness.ports.backend import own_bound
from harness.ports.clock import now_ns
from harness.ports.pool import Channel, ChannelEnd, Close, End
from harness.ports.weights import (
    Defect,
    Misuse,
    Model,
    PolicyFactory,
    Stamp,
    WeightsSetup,
)

_LABEL = ("next", "policy_version")  # at the root it is the one before
NOBODY = 99  # a worker that is not there


Schemes = Mapping[str, Any]  # their classes, by what scenarios call them
_QUEUES: Mapping[Channel, str] = {
    "commands": "_instruction_queues",
    "results": "_ack_queues",
    "weights": "_weight_init_queues",  # the later ones, too, where each worker has a copy
}
VALUE = "postproc.value_network"  # where a worker's collector has its value network
FRAMES_MAX = 10_000  # of one cell


class _Postprocessing(nn.Module):
    """What a worker's collector does to each batch: its value network says what it holds."""

    def __init__(self, value_network: Any) -> None:
        super().__init__()
        self.value_network = value_network

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Call it."""
        found: TensorDictBase = self.value_network(tensordict)
        return found


class CollectorWeights:
    """A trainer's policy and a collector whose batches are one forward a worker."""

    def __init__(
        self, schemes: Schemes, setup: WeightsSetup, factory: PolicyFactory, deadline_s: float
    ) -> None:
        multiprocessing.set_start_method(setup.start_method, force=True)
        self._make_scheme = functools.partial(schemes[setup.scheme], strategy=setup.strategy)
        self._setup = setup
        self._factory = factory
        self._deadline_s = deadline_s
        self._policy = factory()
        self._scheme = self._make_scheme()
        self._is_async = setup.host == "async_collector"
        self._stored: ReplayBuffer | None = None
        self._read = 0  # rows of it
        made = {"policy": self._scheme}
        more: dict[str, Any] = {} if self._is_async else {"cat_results": "stack"}
        if (
            setup.models == "policy_and_value"
        ):  # workers postprocess only what they store themselves
            made[VALUE] = self._make_scheme()
            self._stored = ReplayBuffer(storage=LazyTensorStorage(FRAMES_MAX), batch_size=1)
            more = {"replay_buffer": self._stored, "extend_buffer": True}
            self._value_network = factory.value_network()
            more["postproc"] = _Postprocessing(self._value_network)
        make = MultiAsyncCollector if self._is_async else MultiSyncCollector
        self._collector = make(
            factory.env_makers(setup.num_workers),
            self._policy,
            frames_per_batch=1 if self._is_async else setup.num_workers,
            total_frames=-1,
            weight_sync_schemes=made,
            track_policy_version=True,
            **more,
        )
        self._batches = iter(self._collector)

    def forward(self, workers: Sequence[int] | None = None) -> list[Stamp]:
        """The next batch, one frame a worker; of the asynchronous collector, batches until each has begun one since."""
        assert workers is None
        if not self._is_async:
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
            self._factory.fill(self._policy if model == "policy" else self._value_network, version)
        some: dict[str, Any] = {} if workers is None else {"worker_ids": list(workers)}
        some |= {} if model == "policy" else {"model_id": VALUE}
        self._collector.update_policy_weights_(weights, **some)

    def set_up(self, versions: Sequence[int]) -> list[Stamp]:
        """In forked workers, without a collector: one says itself whose weights are meant."""
        return held_after_set_up(self._make_scheme, self._factory, versions)

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
            case "weights_and_model":
                model, weights = self._policy, TensorDict(self._factory.weights(0, None))
                self._make_scheme().init_on_sender(weights=weights, model=model, num_workers=1)
            case "worker_twice" | "no_worker":
                raise NotImplementedError(what)
            case _:
                assert_never(what)

    def channel(self, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
        """The owner's ends of the ack queues."""
        return close_ends(self._queues(channel) if end == "owner" else [], how)

    def transfer_ends(self, channel: Channel, _: End) -> list[int]:
        """Acks are read from pipes, instructions and weights written to them."""
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
        batch = next(self._batches)
        if self._stored is None:
            return stamps(batch, {"label": _LABEL})
        since, self._read = self._read, len(self._stored)
        return stamps(self._stored[since : self._read], {"label": _LABEL, "value": "state_value"})

    def _weights(self, version: int, defect: Defect | None, model: Model) -> Any:
        weights = self._factory.weights(version, defect, model)
        return (
            weights if self._setup.strategy == "state_dict" else TensorDict(weights, batch_size=[])
        )

    def _queues(self, channel: Channel) -> list[Any]:
        by_worker = getattr(self._scheme, _QUEUES[channel])
        return [queue for _, queue in sorted(by_worker.items())]
