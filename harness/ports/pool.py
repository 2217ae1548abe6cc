"""The port of an env pool: what the author of a pool adapter has to read, with `Backend` in `backend.py`.

Who declares `compare_...` or `params_...` reads `entries.py` or `param_verbs.py` too; `pool_verbs.py` and
`leave.py` are for who writes scenarios.

An adapter translates between this vocabulary and its backend's. It never repairs what the backend
does: a wrong reset mask or a lost reward must reach the judge as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from harness.ports.entries import Entered, Entry, Extras, Writes
from harness.ports.param_verbs import PARAMS, SetParams

Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]

Rows = Any  # an array [n, ...], or a sequence of arrays or of mappings of arrays
Payload = Literal[
    "plain",
    "scalar",
    "image",
    "huge",
    "nested",
    "special",
    "reused",
    "reward_array",
    "differing",
    "batched",
    "grouped",
]
Ends = Literal["split", "truncated", "both", "by_turns"]
Autoreset = Literal["same_step", "next_step"]
Channel = Literal["commands", "results", "weights"]  # weights: on their way beside the commands
End = Literal["owner", "worker"]
Close = Literal["reader", "public"]
Transport = Literal["thread", "process"]
Word = str | int  # a value of a setup key that has a choice
EnvsPerWorker = Literal[1, 2, 3, 8]
FactoryKind = Literal["plain", "closure", "lambda", "local_class", "partial"]
START_METHODS = frozenset({"fork", "spawn", "forkserver"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSetup:
    """What is built before the first step.

    Attributes:
        num_envs: envs in the pool; where children hold several, that many a child.
        horizon: the episode length of env 0; env i lives for `horizon + i` steps.
        transport: whether workers are threads or processes.
        envs_per_worker: how many envs, one after the other, a worker has; the last one may have fewer.
        exchange: how observations travel: by value, through shared slots, or as the backend chooses.
        stack: how results are stacked.
        start_method: how worker processes start.
        host: how the pool is driven: bare, inside an outer transform, inside a collector.
        extras: what the caller's data holds beside what the envs declare; `objects` are no tensors.
        watch: what envs journal: that they were called, or also the keys of what they were given.
        start_within_s: deadline of construction in s.
        payload: what observations are: float32 [WIDTH]; one int64; uint8 images of 28 kB or of 2 MB;
            a dictionary in a dictionary; with NaN and infinities at the end; the same array in each step,
            written over; plain beside a reward of shape [1]; of another length in each env. Or what
            a child is: three envs side by side in its own batch; two groups with their own keys.
        ends: how episodes end: even envs terminate and odd ones are truncated; all are truncated;
            both at one step; each env by turns.
        on_worker_failure: whether a lost worker is an error, or replaced by the backend.
        child: what the pool's children are: the probe env, that in a transform which normalises its
            level by statistics that it made when the child was made, or the probe as a gymnasium env.
        factory: what kind of callable makes each env; start methods but `fork` have to pickle it.
        built: in what surroundings the pool is built: by a single thread, beside threads that keep
            working, or in a second thread that ends once the pool is there.
        OURS: keys that say what the harness does around a backend: a backend has nothing to declare.
    """

    OURS: ClassVar[frozenset[str]] = frozenset({"factory", "built"})

    num_envs: int = 2
    horizon: int = 4
    transport: Transport = "process"
    envs_per_worker: EnvsPerWorker = 1
    exchange: Literal["value", "slots", "auto"] = "value"
    stack: Literal["dense", "maybe_dense", "lazy"] = "dense"
    start_method: Literal["fork", "spawn", "forkserver"] = "fork"
    host: Literal["bare", "transformed", "collector"] = "bare"
    extras: Extras = "none"
    watch: Literal["calls", "input"] = "calls"
    start_within_s: float = 30.0
    payload: Payload = "plain"
    ends: Ends = "split"
    on_worker_failure: Literal["raise", "restart"] = "raise"
    child: Literal["bare", "normalised", "gymnasium"] = "bare"
    factory: FactoryKind = "plain"
    built: Literal["alone", "among_threads", "in_a_thread"] = "alone"


WORKER_OPS: frozenset[str] = frozenset({"pickle", "construct", "reset", "step", "close"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a call returned, one row an env that answered: views of what the backend gave, not copies.

    Attributes:
        env_index: which envs, in the order of the rows; shape [n].
        observation: current observations: the next episode's first one where `autoreset` is
            `same_step` and the episode ended. One entry a row, each an array of the shape and type that the
            backend gave it, or a mapping of such by key, as the payload's form is; an array [n, ...] does.
        action: the actions that the backend says it took, [n]; None after a reset.
        reward: [n], numbers of any type; None after a reset.
        terminated: [n]; None after a reset.
        truncated: [n]; None after a reset.
        final_observation: last observation of an episode that ended, likewise; rows of other envs mean
            nothing, and may hold anything of that form.
        normal: what the children's transform made of their level, [n]; None if they have none.
        handed: the very arrays or tensors that the backend handed out with it, in whatever shapes,
            where they are not the columns above: of these, or else of the columns, is watched that they
            change by their owner's hand only. An adapter that copies into the columns says here what from.
    """

    env_index: Sequence[int]
    observation: Rows
    action: Floats | None = None
    reward: Floats | None = None
    terminated: Bools | None = None
    truncated: Bools | None = None
    final_observation: Rows | None = None
    normal: Floats | None = None
    handed: Sequence[Any] = ()


class ProbeEnv(Protocol):
    """The env that the harness supplies; wrap it in whatever form the backend wants."""

    env_index: int
    level: int

    @property
    def info(self) -> dict[str, Any]:
        """What the last step says beside its result, to be handed on with it; mostly nothing."""

    def reset(self, seed: int | None = None) -> Any:
        """Start the next episode, seeded anew if there is a seed: an observation of the payload's form."""

    def step(self, action: float) -> tuple[Any, Any, bool, bool]:
        """Observation of the payload's form, reward, terminated, truncated."""

    def close(self) -> None:
        """To be called where the backend closes its envs."""

    def seed(self, value: int) -> None:
        """Seed the generator that it draws from at each reset."""

    def set_level(self, level: int) -> None:
        """Have another level from the next step on; ValueError if it is negative."""

    def get_level(self) -> int:
        """The level."""

    def given(self, keys: Sequence[str]) -> None:
        """To be called with the keys of what the env was given, where there are keys."""


class EnvFactory(Protocol):
    """Makes the probe env of one index, in whichever process it is called.

    It may be any kind of callable; one that plain pickle refuses, cloudpickle takes.
    """

    @property
    def env_index(self) -> int:
        """The index."""

    @property
    def payload(self) -> Payload:
        """What its observations are; `harness.payloads.forms` says of what shapes and types."""

    def __call__(self) -> ProbeEnv:
        """Build it."""


class Pool(Protocol):
    """The least that a pool has to do. `WIDTH` of plain observations is `harness.model.probe.WIDTH`."""

    def reset(self) -> Batch:
        """Reset every env."""

    def step(self, actions: Floats) -> Batch:
        """Step every env: actions [num_envs]."""

    def close(self) -> None:
        """Release everything."""

    def worker_pids(self) -> list[int]:
        """The worker processes, by env; empty for threads."""


class ChannelEnd(Protocol):
    """One end of a channel of the backend; must not hold the pool."""

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""

    def close(self) -> None:
        """Close it as the fault asks."""


class FullPool(Pool, Protocol):
    """The optional rest, unlocked by naming it in `PoolCapabilities`."""

    def reset_where(self, mask: Bools) -> Batch:
        """Capability `reset_where`: rows of unmasked envs hold what the backend says of them."""

    def send(self, actions: Floats) -> None:
        """Capability `send`: send every env a step."""

    def recv(self, *, min_get: int, timeout_s: float | None) -> Batch:
        """Capability `recv`: receive `min_get` results or more; `TimeoutError` when late.

        With `recv` alone, `min_get` is always the number of envs; with `recv_some` it may be less.
        """

    def lend(self, *, min_get: int, timeout_s: float | None) -> Batch:
        """Capability `give_back`: do what `recv` does, without copying; `handed` is what is lent."""

    def give_back(self) -> None:
        """Capability `give_back`: give back what was lent last."""

    def seed(self, value: int) -> None:
        """Capability `seed`: seed all envs from this one, now or with the next reset."""

    def rollout(self, frames: int) -> Batch:
        """Capability `rollout`: the next batch of the collector, rows in time order for each env."""

    def set_params(self, levels: Mapping[int, int], verb: SetParams) -> None:
        """Capability `params_...`: give these envs these levels, in the way that the verb says."""

    def read_params(self, via: str) -> Sequence[int]:
        """Capability `params_attribute` or `params_method`: the levels, by env."""

    def enter(self, entry: Entry, actions: Floats, mask: Bools, *, overwrite: bool) -> Entered:
        """Capability `compare_<entry>`: asks the envs in `mask`, going on from the call before; plus extras."""

    def channel(self, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
        """Capability `channels`: the ends that the fault names."""

    def transfer_ends(self, channel: Channel, end: End) -> Sequence[Any]:
        """Capability `transfers`: what tells the ends of a channel, by env where each has its own.

        Of pipes and sockets the owner's descriptors, whichever `end` is asked for; the worker's are
        found by them. Of what threads share, the objects that the hooked functions are given.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCapabilities:
    """What a backend's pool can do; the rest is UNSUPPORTED in its column, with this as the reason.

    Attributes:
        verbs: what it has of `OPTIONAL` in `pool_verbs.py`.
        setup: accepted values of each setup key; a key that is left out accepts its default only.
        channels: by transport, channel ends that can be closed, as `results/owner/reader`.
        transfers: by transport, channels whose transfers can be counted.
        once: channels whose items cannot come twice: they are counted beside the pipe, as a queue does,
            hand over descriptors, or go through pipes, which repeat nothing, to who relies on that. Who
            numbers its requests leaves them out, and has to bear a repetition.
        autoreset: when an env that is done is reset: within the step that ended it, or by the next one.
        closes_by_itself: a pool that is dropped without `close` is meant to release its workers.
        promises_forms: its specs or spaces say of what shape, type and keys observations are: an env's reply that
            is another is an error of the call, or made what was promised. Who hands on what envs reply promises
            nothing, and cannot break it.
        in_flight_max: how many steps of an env may be in flight: sent, and not received.
        mark: the root entry in which it says which envs answered, by row; empty if it has none.
        writes_input: what is written into the caller's data: a step's `next`, a reset's `root`, the mark.
    """

    verbs: frozenset[str] = frozenset()
    setup: Mapping[str, frozenset[Word]] = field(default_factory=dict)
    channels: Mapping[Transport, frozenset[str]] = field(default_factory=dict)
    transfers: Mapping[Transport, frozenset[Channel]] = field(default_factory=dict)
    once: frozenset[Channel] = frozenset()
    autoreset: Autoreset = "same_step"
    closes_by_itself: bool = True
    promises_forms: bool = False
    in_flight_max: int = 1
    mark: str = ""
    writes_input: frozenset[Writes] = frozenset()


METHODS = ("reset", "step", "close", "worker_pids")  # of every pool


def methods_of(capabilities: PoolCapabilities) -> tuple[str, ...]:
    """The methods that a pool with these capabilities has."""
    unlocked = {"recv_some": "recv", **dict.fromkeys(PARAMS, "set_params")}
    verbs = sorted(capabilities.verbs)
    named = ["enter" if v.startswith("compare_") else unlocked.get(v, v) for v in verbs]
    named += ["read_params"] if {"params_attribute", "params_method"} & capabilities.verbs else []
    named += ["lend"] if "give_back" in capabilities.verbs else []
    named += ["channel"] if any(capabilities.channels.values()) else []
    named += ["transfer_ends"] if any(capabilities.transfers.values()) else []
    return tuple(dict.fromkeys((*METHODS, *named)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPort:
    """What an adapter module exports for pools.

    Attributes:
        capabilities: what the pool can do.
        make: builds it, from setup, factories by env, and the scenario's deadline in s for shutting
            down. A backend with a bound of its own gets one through its own knob that fits into it;
            what was set is told in the pool's `remarks`, a sequence of sentences, if it has any.
        twin: builds a pool without workers over envs of its own, of which only `enter` and `close` are
            used: what `compare` is judged by.
    """

    capabilities: PoolCapabilities
    make: Callable[[PoolSetup, Sequence[EnvFactory], float], Pool]
    twin: Callable[[PoolSetup, Sequence[EnvFactory], float], Pool] | None = None
