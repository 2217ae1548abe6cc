"""The port of weight synchronisation: a trainer, its workers, and a policy whose weights carry their version.

The workers are the backend's own: a collector's, or whatever runs one forward per command.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Every worker runs one forward and reports the versions that it read.

    Attributes:
        workers: which of them, all if left out.
    """

    do: Literal["forward"] = "forward"
    workers: tuple[int, ...] | None = None
    times: int = 1
    within_s: float = 5.0

    @property
    def capability(self) -> str:
        """What a backend has to declare for it."""
        return "forward" if self.workers is None else "forward_some"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutate:
    """The trainer fills its parameters with `version` in place, and sends nothing."""

    version: int
    do: Literal["mutate"] = "mutate"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """The trainer sends `version`: its own parameters, filled in place first, or fresh weights.

    Attributes:
        workers: to which workers, all if left out.
        model: of which model.
    """

    version: int
    how: Literal["in_place", "fresh"] = "fresh"
    workers: tuple[int, ...] | None = None
    model: Model = "policy"
    do: Literal["send"] = "send"
    times: int = 1
    within_s: float = 5.0

    @property
    def capability(self) -> str:
        """What a backend has to declare for it."""
        return "send" if self.workers is None else "send_some"


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAsync:
    """The trainer begins to send fresh weights of `version` and does not wait; `wait_async` does."""

    version: int
    do: Literal["send_async"] = "send_async"
    within_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitAsync:
    """The trainer waits for what `send_async` has begun."""

    do: Literal["wait_async"] = "wait_async"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartWorker:
    """A worker, dead or alive, is replaced by a new one, which gets the current version."""

    worker: int
    do: Literal["restart_worker"] = "restart_worker"
    within_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Misused:
    """A call that has no meaning is made: it is refused, in time and before any effect.

    Attributes:
        what: a send to a worker that does not exist, to one twice, to none, or of a model that is not there;
            a set-up from weights and a model at once; a send by a scheme that was not set up, or not connected.
    """

    what: Misuse
    do: Literal["misuse"] = "misuse"
    within_s: float = 5.0

    @property
    def capability(self) -> str:
        """What a backend has to declare for it."""
        return f"misuse_{self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """The trainer sends one version after the other while a second thread has the workers act without a pause.

    Attributes:
        sends: how many.
        versions_from: the version of the first; each next is one more.
    """

    sends: int
    versions_from: int = 2
    do: Literal["race"] = "race"
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """Close workers and scheme."""

    do: Literal["shutdown"] = "shutdown"
    times: int = 1
    within_s: float = 5.0


WeightsVerb = (
    Forward | Mutate | Send | SendAsync | WaitAsync | RestartWorker | Misused | Race | Shutdown
)
ALWAYS: frozenset[str] = frozenset({"forward", "mutate", "send", "race", "shutdown"})
OPTIONAL: frozenset[str] = frozenset(
    {
        "forward_some",
        "send_some",
        "send_async",
        "wait_async",
        "restart_worker",
        "misuse_unknown_worker",
        "misuse_worker_twice",
        "misuse_no_worker",
        "misuse_unknown_model",
        "misuse_weights_and_model",
        "misuse_before_setup",
        "misuse_before_connect",
    }
)
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
    """A trainer with its workers."""

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
        verbs: what it has of `OPTIONAL`.
        setup: accepted values of each setup key; a key that is left out accepts its default only.
        worker_ops: operations of a worker that its probe models see; a scheme that writes into tensors by
            itself passes no `apply`.
        channels: by transport, channel ends that can be closed, as `results/owner/reader`: `commands` carry
            instructions, `results` acks.
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
