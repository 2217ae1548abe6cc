"""What scenarios of weight sync may do, step by step; `weights.py` has what an adapter's author needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.ports.weights import Misuse, Model


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
class SetUp:
    """A second scheme is set up from weights by worker, and connected; each of its workers says what it holds.

    Attributes:
        versions: of the first worker's weights, of the second's, and so on.
    """

    versions: tuple[int, ...]
    do: Literal["set_up"] = "set_up"
    within_s: float = 10.0


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
    Forward
    | Mutate
    | Send
    | SendAsync
    | WaitAsync
    | RestartWorker
    | Misused
    | SetUp
    | Race
    | Shutdown
)
ALWAYS: frozenset[str] = frozenset({"forward", "mutate", "send", "race", "shutdown"})
OPTIONAL: frozenset[str] = frozenset(
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
        "misuse_unknown_model",
        "misuse_weights_and_model",
        "misuse_before_setup",
        "misuse_before_connect",
    }
)
