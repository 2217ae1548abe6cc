"""The port of weight synchronisation: a trainer, its workers, and a policy whose weights carry their version.

The workers are the backend's own: a collector's, or whatever runs one forward per command. Verbs of scenarios
are in `weights_verbs.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from harness.ports.pool import Channel, ChannelEnd, Close, End, Transport

Defect = Literal["wrong_shape", "wrong_key", "unknown_keys", "wrong_dtype", "extra_key"]
Model = Literal["policy", "value"]
Misuse = Literal[
    "unknown_worker",
    "worker_twice",
    "no_worker",
    "unknown_model",
    "weights_and_model",
    "before_setup",
    "before_connect",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsSetup:
    """What is built before the first forward.

    Attributes:
        num_workers: workers that act.
        scheme: whether a worker owns a private copy, or acts from shared memory.
        transport: whether workers are threads or processes.
        start_method: how worker processes start.
        host: whose workers act: the backend's own, or those of one of torchrl's collectors.
        strategy: in which form weights are taken out of a model.
        models: which models each worker has: a policy, or a value network beside it.
        reads: whether a forward reads the ends of the large parameter, or all of it.
        numel: elements of the policy's large parameter.
        start_within_s: deadline of construction in s.
        OURS: keys that the probe policy sees to: a backend has nothing to declare.
    """

    OURS: ClassVar[frozenset[str]] = frozenset({"reads"})

    num_workers: int = 2
    scheme: Literal["copy", "shared"] = "copy"
    transport: Transport = "process"
    start_method: Literal["fork", "spawn", "forkserver"] = "fork"
    host: Literal["own", "sync_collector", "async_collector"] = "own"
    strategy: Literal["tensordict", "state_dict"] = "tensordict"
    models: Literal["policy", "policy_and_value"] = "policy"
    reads: Literal["ends", "all"] = "ends"
    numel: int = 1_000_000
    start_within_s: float = 30.0


WORKER_OPS: frozenset[str] = frozenset({"construct", "forward", "apply", "half_apply"})
FIRST_VERSION = 1  # what models are filled with before anything is sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What one forward of one worker read: the same version everywhere, if it is whole.

    Attributes:
        worker: whose.
        first: at the start of the large parameter, or the least of all that it holds.
        last: at its end, or the most.
        buffer: in the small tensors.
        value: in the value network beside the policy; None where there is none.
        began_ns: CLOCK_MONOTONIC before the first read; 0 if nobody looked.
        label: what the backend calls the version that was acted on; None if it does not say.
    """

    worker: int
    first: int
    last: int
    buffer: int
    value: int | None = None
    began_ns: int = 0
    label: int | None = None


class PolicyFactory(Protocol):
    """Makes the probe models and weights for them; pickles."""

    def __call__(self) -> Any:
        """A `torch.nn.Module` from TensorDict to TensorDict, filled with `FIRST_VERSION`."""

    def for_workers(self) -> PolicyFactory:
        """The same, as each worker calls it."""

    def value_network(self) -> Any:
        """A module that writes the version it holds as `state_value`, filled with `FIRST_VERSION`."""

    def weights(
        self, version: int, defect: Defect | None, model: Model = "policy"
    ) -> dict[str, Any]:
        """Fresh tensors by name, filled with `version`; spoilt if `defect` says how."""

    def fill(self, policy: Any, version: int) -> None:
        """Fill the policy's parameters and buffers with `version`, in place."""

    def env_makers(self, num_workers: int) -> list[Callable[[], Any]]:
        """Envs for backends whose workers step one; their observations name the worker."""


class WeightSync(Protocol):
    """A trainer with its workers.

    One with bounds of its own may have `allow(deadline_s)`: it is told, before each call, within how many seconds
    that has to end.
    """

    def forward(self, workers: Sequence[int] | None = None) -> list[Stamp]:
        """One forward a worker; of some of them: `forward_some`."""

    def mutate(self, version: int) -> None:
        """Fill the trainer's own parameters in place."""

    def send(
        self,
        version: int,
        *,
        fresh: bool,
        defect: Defect | None,
        workers: Sequence[int] | None = None,
        model: Model = "policy",
    ) -> None:
        """Send; returns when the targeted workers hold it, or raises; to some of them: `send_some`."""

    def close(self) -> None:
        """Release everything."""

    def worker_pids(self) -> list[int]:
        """The worker processes, by worker; empty for threads."""


class FullWeightSync(WeightSync, Protocol):
    """The optional rest, unlocked by naming it in `WeightsCapabilities`."""

    def send_async(self, version: int, *, defect: Defect | None) -> None:
        """Begin to send fresh weights."""

    def wait_async(self) -> None:
        """Wait for that."""

    def restart_worker(self, worker: int) -> None:
        """Replace a worker."""

    def set_up(self, versions: Sequence[int]) -> list[Stamp]:
        """What each worker of a second scheme holds, which is connected with weights by worker."""

    def misuse(self, what: Misuse) -> None:
        """Make a call that has to be refused: `misuse_...`."""

    def channel(self, channel: Channel, end: End, how: Close) -> Sequence[ChannelEnd]:
        """Ends that can be closed: `channels`."""

    def transfer_ends(self, channel: Channel, end: End) -> Sequence[Any]:
        """Descriptors, or objects, whose transfers are counted, by worker: `transfers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsCapabilities:
    """What a backend's weight sync can do; the rest is UNSUPPORTED in its column, with this as the reason.

    Attributes:
        verbs: what it has of `OPTIONAL` in `weights_verbs.py`.
        setup: accepted values of each setup key; a key that is left out accepts its default only.
        worker_ops: operations of a worker that its probe models see; a scheme that writes into tensors by
            itself passes no `apply`.
        channels: by transport, channel ends that can be closed, as `results/owner/reader`: `commands` carry
            instructions, `results` acks, `weights` what instructions are about.
        transfers: by transport, channels whose transfers can be counted.
        once: channels whose items cannot come twice, or are not promised to be told apart.
        closes_by_itself: what is dropped without `close` is meant to release its workers.
        isolates: schemes that promise that workers act on what was sent, and on nothing else.
    """

    verbs: frozenset[str] = frozenset()
    setup: Mapping[str, frozenset[str]] = field(default_factory=dict)
    worker_ops: frozenset[str] = frozenset({"forward"})
    channels: Mapping[Transport, frozenset[str]] = field(default_factory=dict)
    transfers: Mapping[Transport, frozenset[Channel]] = field(default_factory=dict)
    once: frozenset[Channel] = frozenset()
    closes_by_itself: bool = True
    isolates: frozenset[Literal["copy", "shared"]] = frozenset({"copy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsPort:
    """What an adapter module exports for weight synchronisation."""

    capabilities: WeightsCapabilities
    make: Callable[[WeightsSetup, PolicyFactory, float], WeightSync]
