"""The reference's weight sync: a scheme, and its own workers, which run one forward a command."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, assert_never

import torch
from tensordict import TensorDict

from harness.adapters._collector_weights import CollectorWeights, Schemes
from harness.adapters._reference_ends import close_ends, transfer_ends
from harness.adapters._schemes_set_up import held_after_set_up
from harness.adapters.tensordict_weights import stamps
from harness.ports.backend import own_bound
from harness.ports.clock import Deadline
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
    WeightSync,
)
from reference_impl.weights import (
    MultiProcessWeightSyncScheme,
    PolicyWorkers,
    SharedMemWeightSyncScheme,
)

_OWNERS = frozenset(
    f"{way}/owner/{how}" for way in ("commands", "results") for how in ("reader", "public")
)
WEIGHTS_CAPABILITIES = WeightsCapabilities(
    verbs=frozenset(
        {
            "forward_some",
            "send_some",
            "send_async",
            "wait_async",
            "restart_worker",
            "set_up",
            "misuse_unknown_worker",
            "misuse_worker_twice",
            "misuse_no_worker",
            "misuse_weights_and_model",
            "misuse_before_setup",
            "misuse_before_connect",
        }
    ),
    setup={
        "scheme": frozenset({"copy", "shared"}),
        "host": frozenset({"own", "sync_collector", "async_collector"}),
        "strategy": frozenset({"tensordict", "state_dict"}),
        "models": frozenset({"policy", "policy_and_value"}),
        "start_method": START_METHODS,
        "transport": frozenset({"thread", "process"}),
    },
    worker_ops=frozenset({"construct", "forward", "apply", "half_apply"}),
    channels={
        "process": _OWNERS,
        "thread": frozenset({"commands/owner/public", "results/owner/public"}),
    },
    transfers=dict.fromkeys(("process", "thread"), frozenset({"commands", "results"})),
    isolates=frozenset({"copy", "shared"}),
)
_CHANNELS = {"commands": "instructions", "results": "acks"}
VALUE = "value_network"  # where a policy has it
NOBODY = 99  # a worker that is not there

SCHEMES: Schemes = {"copy": MultiProcessWeightSyncScheme, "shared": SharedMemWeightSyncScheme}


class SchemeWeights:
    """A trainer's policy, a scheme, and workers that run one forward a command."""

    def __init__(
        self,
        schemes: Schemes,
        setup: WeightsSetup,
        factory: PolicyFactory,
        deadline_s: float,
    ) -> None:
        self._make_scheme = functools.partial(schemes[setup.scheme], strategy=setup.strategy)
        self._factory = factory
        self._bound_s = own_bound(deadline_s)  # of all sends, and of the end
        self._call_s = self._bound_s  # of the next call
        self._apart = setup.transport == "process"
        self._policy = factory()
        self._scheme = self._make_scheme()
        self._scheme.init_on_sender(model=self._policy, num_workers=setup.num_workers)
        self._others: dict[str, Any] = {}
        if setup.models == "policy_and_value":
            self._others[VALUE] = self._make_scheme()
            self._value_network = factory.value_network()
            self._others[VALUE].init_on_sender(
                model=self._value_network, num_workers=setup.num_workers
            )
        self._workers = PolicyWorkers(
            factory.for_workers(),
            setup.num_workers,
            scheme=self._scheme,
            others=self._others,
            start_method=setup.start_method if self._apart else "thread",
            start_timeout=own_bound(setup.start_within_s),
            shutdown_timeout=self._bound_s,
        )

    def allow(self, deadline_s: float) -> None:
        """The next call has so long."""
        self._call_s = own_bound(deadline_s)

    def forward(self, workers: Sequence[int] | None = None) -> list[Stamp]:
        """One forward a worker, each with an observation that names the worker."""
        found: list[Stamp] = []
        deadline = Deadline.after(self._call_s)
        for worker in range(self._workers.num_workers) if workers is None else workers:
            observation = torch.tensor([float(worker)])
            given = TensorDict({"observation": observation}, batch_size=[])
            (result,) = self._workers.forward(given, worker_ids=worker, timeout=deadline.left_s)
            result.set("label", torch.tensor([self._workers.versions[worker]]))
            more = {"value": "state_value"} if self._others else {}
            found += stamps(result, {"label": "label", **more})
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
        """Send fresh weights, or the trainer's own."""
        weights = None
        if fresh or defect is not None:
            weights = self._factory.weights(version, defect, model)
        else:
            self._factory.fill(self._policy if model == "policy" else self._value_network, version)
        scheme = self._scheme if model == "policy" else self._others[VALUE]
        scheme.send(weights, worker_ids=workers, timeout=self._call_s)

    def restart_worker(self, worker: int) -> None:
        """Replace a worker."""
        self._workers.restart(worker, timeout=self._call_s)

    def send_async(self, version: int, *, defect: Defect | None) -> None:
        """Begin to send fresh weights."""
        self._scheme.send_async(self._factory.weights(version, defect), timeout=self._bound_s)

    def wait_async(self) -> None:
        """Wait for that."""
        self._scheme.wait_async(timeout=self._call_s)

    def set_up(self, versions: Sequence[int]) -> list[Stamp]:
        """In forked workers, whatever the others are."""
        return held_after_set_up(self._make_scheme, self._factory, versions)

    def misuse(self, what: Misuse) -> None:
        """Make a call that has to be refused."""
        weights = self._factory.weights(0, None)
        match what:
            case "unknown_worker":
                self._scheme.send(weights, worker_ids=[NOBODY], timeout=self._call_s)
            case "worker_twice":
                self._scheme.send(weights, worker_ids=[0, 0], timeout=self._call_s)
            case "no_worker":
                self._scheme.send(weights, worker_ids=[], timeout=self._call_s)
            case "before_setup":
                self._make_scheme().send(weights)
            case "before_connect":
                scheme = self._make_scheme()
                try:
                    scheme.init_on_sender(model=self._policy, num_workers=1)
                    scheme.send(weights)
                finally:
                    scheme.shutdown()
            case "weights_and_model":
                weights = TensorDict(weights, batch_size=[])
                scheme = self._make_scheme()
                scheme.init_on_sender(weights=weights, model=self._policy, num_workers=1)
            case "unknown_model":
                raise NotImplementedError(what)
            case _:
                assert_never(what)

    def channel(self, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
        """The owner's ends; a duplex one carries both instructions and acks."""
        return close_ends(self._ends(channel) if end == "owner" else [], how)

    def transfer_ends(self, channel: Channel, end: End) -> list[Any]:
        """By worker."""
        return transfer_ends(self._ends(channel), end, apart=self._apart)

    def close(self) -> None:
        """Close the workers, and the scheme with them."""
        self._workers.close()

    def worker_pids(self) -> list[int]:
        """The worker processes, by worker."""
        return self._workers.worker_pids

    def _ends(self, channel: Channel) -> list[Any]:
        ends: list[Any] = self._scheme.channels()[_CHANNELS[channel]]
        return ends


def weights_port_of(
    schemes: Schemes,
    capabilities: WeightsCapabilities = WEIGHTS_CAPABILITIES,
    sync: type[SchemeWeights] = SchemeWeights,
) -> WeightsPort:
    """The port of the reference's weight sync, or of variants of its schemes, by what scenarios call them."""

    def make(setup: WeightsSetup, factory: PolicyFactory, deadline_s: float) -> WeightSync:
        if setup.host == "own":
            return sync(schemes, setup, factory, deadline_s)
        return CollectorWeights(schemes, setup, factory, deadline_s)

    return WeightsPort(capabilities=capabilities, make=make)
