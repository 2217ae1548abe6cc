"""torchrl's weight sync schemes, each inside one of its multi-process collectors."""

from __future__ import annotations

import functools

from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme

from harness.adapters._collector_weights import CollectorWeights, Schemes
from harness.ports.pool import START_METHODS
from harness.ports.weights import WeightsCapabilities, WeightsPort

SCHEMES: Schemes = {"copy": MultiProcessWeightSyncScheme, "shared": SharedMemWeightSyncScheme}
WEIGHTS = WeightsPort(
    capabilities=WeightsCapabilities(
        verbs=frozenset(
            {
                "send_some",
                "set_up",
                "misuse_unknown_worker",
                "misuse_unknown_model",
                "misuse_weights_and_model",
                "misuse_before_setup",
                "misuse_before_connect",
            }
        ),
        setup={
            "scheme": frozenset(SCHEMES),
            "start_method": START_METHODS,
            "host": frozenset({"own", "sync_collector", "async_collector"}),
            "strategy": frozenset({"tensordict", "state_dict"}),
            "models": frozenset({"policy", "policy_and_value"}),
        },
        channels={"process": frozenset({"results/owner/reader", "results/owner/public"})},
        # A private copy travels beside its instruction; what is shared did so once, before the first step.
        transfers={"process": frozenset({"commands", "results", "weights"})},
        once=frozenset(
            {"commands", "results", "weights"}
        ),  # queues count their items beside the pipe
    ),
    make=functools.partial(CollectorWeights, SCHEMES),
)
