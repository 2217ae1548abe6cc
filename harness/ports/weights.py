"""The port of weight synchronisation: a trainer, its workers, and a policy whose weights carry their version.

The workers are the backend's own: a collector's, or whatever runs one forward per command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Defect = Literal["wrong_shape", "wrong_key", "unknown_keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsSetup:
    """What is built before the first forward.

    Attributes:
        num_workers: workers that act.
        scheme: whether a worker owns a private copy, or acts from shared memory.
        start_method: how worker processes start.
        numel: elements of the policy's large parameter.
        start_within_s: deadline of construction in s.
    """

    num_workers: int = 2
    scheme: Literal["copy", "shared"] = "copy"
    start_method: Literal["fork", "spawn", "forkserver"] = "fork"
    numel: int = 1_000_000
    start_within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Every worker runs one forward and reports the versions that it read."""

    do: Literal["forward"] = "forward"
    times: int = 1
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutate:
    """The trainer fills its parameters with `version` in place, and sends nothing."""

    version: int
    do: Literal["mutate"] = "mutate"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """The trainer sends `version`: its own parameters, filled in place first, or fresh weights."""

    version: int
    how: Literal["in_place", "fresh"] = "fresh"
    do: Literal["send"] = "send"
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """Close workers and scheme."""

    do: Literal["shutdown"] = "shutdown"
    times: int = 1
    within_s: float = 5.0


WeightsVerb = Forward | Mutate | Send | Shutdown
ALWAYS: frozenset[str] = frozenset({"forward", "mutate", "send", "shutdown"})
OPTIONAL: frozenset[str] = frozenset()
WORKER_OPS: frozenset[str] = frozenset({"forward"})
FIRST_VERSION = 1  # what the policy is filled with before anything is sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What one forward of one worker read: the same version everywhere, if it is whole."""

    worker: int
    first: int
    last: int
    buffer: int


class PolicyFactory(Protocol):
    """Makes the probe policy and weights for it; pickles."""

    def __call__(self) -> Any:
        """A `torch.nn.Module` from TensorDict to TensorDict, filled with `FIRST_VERSION`."""

    def weights(self, version: int, defect: Defect | None) -> dict[str, Any]:
        """Fresh tensors by name, filled with `version`; spoilt if `defect` says how."""

    def fill(self, policy: Any, version: int) -> None:
        """Fill the policy's parameters and buffers with `version`, in place."""

    def env_makers(self, num_workers: int) -> list[Callable[[], Any]]:
        """Envs for backends whose workers step one; their observations name the worker."""


class WeightSync(Protocol):
    """A trainer with its workers."""

    def forward(self) -> list[Stamp]:
        """One forward a worker."""

    def mutate(self, version: int) -> None:
        """Fill the trainer's own parameters in place."""

    def send(self, version: int, *, fresh: bool, defect: Defect | None) -> None:
        """Send; returns when the targeted workers hold it, or raises."""

    def close(self) -> None:
        """Release everything."""

    def worker_pids(self) -> list[int]:
        """The worker processes, by worker; empty for threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsCapabilities:
    """What a backend's weight sync can do.

    Attributes:
        setup: accepted values of each setup key; a key that is left out accepts its default only.
    """

    setup: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsPort:
    """What an adapter module exports for weight synchronisation."""

    capabilities: WeightsCapabilities
    make: Callable[[WeightsSetup, PolicyFactory, float], WeightSync]
