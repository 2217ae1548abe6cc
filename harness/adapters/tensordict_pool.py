"""Translates between the pool port and pools that speak torchrl's vocabulary.

A backend supplies a `Dialect`: how its pool is built, and what of it may be touched. Everything
else, from TensorDict to `Batch`, is the same for all of them and is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from tensordict import LazyStackedTensorDict, NonTensorStack, TensorDictBase, lazy_stack
from tensordict.nn import TensorDictModuleBase
from torchrl.collectors import Collector
from torchrl.envs import Compose, RewardSum, SerialEnv, StepCounter, TransformedEnv

from harness.adapters.tensordict_entries import MARK, Entries, SerialEntries
from harness.adapters.tensordict_rows import layout_of, tensors
from harness.model import probe
from harness.payloads.tensordict_env import env_makers
from harness.ports.entries import Entered, Entry, Extras
from harness.ports.param_verbs import SetParams
from harness.ports.pool import (
    Batch,
    Bools,
    Channel,
    ChannelEnd,
    Close,
    End,
    EnvFactory,
    Floats,
    PoolCapabilities,
    PoolPort,
    PoolSetup,
)

EXTRAS = frozenset(get_args(Extras))
WATCHES = frozenset({"calls", "input"})
Build = Callable[[PoolSetup, Sequence[EnvFactory], float], Any]


def _no_channels(_pool: Any, _channel: Channel, _end: End, _how: Close) -> list[ChannelEnd]:
    return []


def _no_remarks(_setup: PoolSetup, _deadline_s: float) -> tuple[str, ...]:
    return ()


def _close(env: Any) -> None:
    env.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What differs between the pools of torchrl's vocabulary.

    Attributes:
        build: makes the bare pool from setup, factories by env, and the deadline for shutting down.
        worker_pids: the pool's worker processes, by env; empty for threads.
        channel: the pool's ends of a channel; none of them may hold the pool.
        transfer_ends: what tells the transfers of a channel, as the port has it.
        remarks: what a reader of the cell has to know of how the pool was set up.
        close: closes the pool, or the transformed env around it, so that it may be called again.
        reinit: what names the children's transform where its statistics are to be made anew.
        entries: how its entry points are called by name.
    """

    build: Build
    worker_pids: Callable[[Any], list[int]]
    channel: Callable[[Any, Channel, End, Close], list[ChannelEnd]] = _no_channels
    transfer_ends: Callable[[Any, Channel, End], Sequence[Any]] = lambda _pool, _channel, _end: []
    remarks: Callable[[PoolSetup, float], tuple[str, ...]] = _no_remarks
    close: Callable[[Any], None] = _close
    entries: type[Entries] = Entries
    reinit: Callable[[], Any] = lambda: None


def pool_port(capabilities: PoolCapabilities, dialect: Dialect) -> PoolPort:
    """The port of a pool of this dialect."""

    def make(
        setup: PoolSetup, factories: Sequence[EnvFactory], deadline_s: float
    ) -> TensorDictPool:
        return TensorDictPool(dialect, setup, factories, deadline_s)

    def make_twin(
        setup: PoolSetup, factories: Sequence[EnvFactory], deadline_s: float
    ) -> TensorDictPool:
        return TensorDictPool(_SERIAL, setup, factories, deadline_s)

    return PoolPort(capabilities=capabilities, make=make, twin=make_twin)


def _build_serial(setup: PoolSetup, factories: Sequence[EnvFactory], _: float) -> Any:
    pool = SerialEnv(setup.num_envs, env_makers(factories), use_buffers=False)
    pool.start()
    return pool


_SERIAL = Dialect(
    build=_build_serial,
    worker_pids=lambda _: [],
    close=lambda env: env.close(raise_if_closed=False),
    entries=SerialEntries,
)
"""The twin of all of them: torchrl's `SerialEnv`, by value."""


class RequestPolicy(TensorDictModuleBase):
    """Gives every env its next request id as `action`, float32 [num_envs, 1].

    Ids increase with every call and no two envs get the same one.
    """

    in_keys = ("observation",)
    out_keys = ("action",)

    def __init__(self, num_envs: int) -> None:
        super().__init__()
        self._ids = torch.arange(1, num_envs + 1, dtype=torch.float32).unsqueeze(-1)

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Write the ids of this call."""
        tensordict.set("action", self._ids.clone())
        self._ids += len(self._ids)
        return tensordict


class StepPolicy(TensorDictModuleBase):
    """Acts on the observation alone, however often it is asked: `action` is the env's step."""

    in_keys = ("observation",)
    out_keys = ("action",)

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Write the steps."""
        at = probe.FIELDS.index("step")
        return tensordict.set("action", tensordict.get("observation")[..., at : at + 1].clone())


# How rows are stacked again that were received at different times.
STACKS: Mapping[str, Callable[[Any], Any]] = {
    "dense": torch.stack,
    "maybe_dense": LazyStackedTensorDict.maybe_dense_stack,
    "lazy": lazy_stack,
}


class TensorDictPool:
    """Drives one pool of torchrl's vocabulary, bare or inside its host."""

    def __init__(
        self,
        dialect: Dialect,
        setup: PoolSetup,
        factories: Sequence[EnvFactory],
        deadline_s: float,
    ) -> None:
        self._dialect = dialect
        self.remarks = dialect.remarks(setup, deadline_s)
        self._layout = layout_of(setup.payload)
        self._children = setup.num_envs // self._layout.lanes
        self._host = setup.host
        self._normalised = setup.child == "normalised"
        self._stack = STACKS[setup.stack]
        self._pool = dialect.build(setup, factories, deadline_s)
        self._env = self._pool
        if setup.host == "transformed":
            self._env = TransformedEnv(self._pool, Compose(StepCounter(), RewardSum()))
        self._collector: Any = None
        self._batches: Any = None
        self._root: Any = None
        self._lease: Any = None
        self._entries = dialect.entries(self._env, self._pool, setup)

    def reset(self) -> Batch:
        """Reset every env."""
        self._root = self._env.reset()
        return self._after_reset(self._root)

    def reset_where(self, mask: Bools) -> Batch:
        """Reset with `_reset`, which shares the mask's memory: a write to it reaches the caller."""
        request = self._current()
        self._layout.mask(request, mask)
        self._root = self._env.reset(request)
        return self._after_reset(self._root)

    def step(self, actions: Floats) -> Batch:
        """One `step_and_maybe_reset` of the host."""
        done, self._root = self._env.step_and_maybe_reset(self._with_actions(actions))
        return self._after_step(done, self._root)

    def send(self, actions: Floats) -> None:
        """Send `step_and_maybe_reset` to every env of the bare pool."""
        request = self._with_actions(actions)
        request.set(MARK, NonTensorStack(*range(self._children)))
        self._pool.async_step_and_maybe_reset_send(request)

    def recv(self, *, min_get: int, timeout_s: float | None) -> Batch:
        """Receive at least `min_get` results of the bare pool."""
        done, root = self._pool.async_step_and_maybe_reset_recv(min_get, timeout=timeout_s)
        self._merge(root, _children(root))
        return self._after_step(done, root)

    def lend(self, *, min_get: int, timeout_s: float | None) -> Batch:
        """Receive as `recv` does, but for the copy; the roots that are kept are copied."""
        self._lease = self._pool.async_step_and_maybe_reset_lease(min_get, timeout=timeout_s)
        done, root = self._lease.batch
        self._merge(root.clone(), _children(root))
        return self._after_step(done, root)

    def give_back(self) -> None:
        """Release the lease."""
        self._lease.release()

    def seed(self, value: int) -> None:
        """Seed the outermost env, which hands seeds on."""
        self._env.set_seed(value)

    def set_params(self, levels: Mapping[int, int], verb: SetParams) -> None:
        """Through the host, as a user would."""
        envs, values = list(levels), list(levels.values())
        if verb.via == "update" or verb.when == "reset" or verb.reinit:
            reinit = [self._dialect.reinit()] if verb.reinit else []
            method = None if verb.via == "attribute" else "set_level"
            self._env.update_env_params(
                [{"level": level} for level in values],
                env_index=envs,
                method=method,
                reinit_transforms=reinit,
                when=verb.when,
            )
        elif verb.via == "attribute":
            self._env.set_attr("level", values, env_index=envs)
        else:
            for env, level in levels.items():
                self._env.call("set_level", level, env_index=env)

    def read_params(self, via: str) -> Sequence[int]:
        """Through the host, too."""
        read: Sequence[int] = (
            self._env.get_attr("level") if via == "attribute" else self._env.call("get_level")
        )
        return read

    def enter(self, entry: Entry, actions: Floats, mask: Bools, *, overwrite: bool) -> Entered:
        """One call of an entry point by name."""
        return self._entries.enter(entry, actions, mask, self._batch_of, overwrite_it=overwrite)

    def rollout(self, frames: int) -> Batch:
        """The next batch of a `Collector`, which the first call builds."""
        return self._after_rollout(self._collect(frames, RequestPolicy(self._children)))

    def _batch_of(self, steps: int) -> Any:
        """A rollout of the host: a collector's batch, or the env's own."""
        if self._host == "collector":
            return self._collect(steps * self._children, StepPolicy())
        return self._env.rollout(steps, StepPolicy(), break_when_any_done=False)

    def _collect(self, frames: int, policy: TensorDictModuleBase) -> Any:
        if self._collector is None:
            self._collector = Collector(
                self._pool,
                policy,
                frames_per_batch=frames,
                total_frames=-1,
                auto_register_policy_transforms=False,  # left out, it warns
            )
            self._batches = iter(self._collector)
        return next(self._batches)

    def close(self) -> None:
        """Close the outermost object, as a user would."""
        if self._collector is not None:
            self._collector.shutdown()
        else:
            self._dialect.close(self._env)

    def worker_pids(self) -> list[int]:
        """The worker processes, by env; empty for threads."""
        return self._dialect.worker_pids(self._pool)

    def channel(self, channel: Channel, end: End, how: Close) -> list[ChannelEnd]:
        """The ends that the fault names; empty where the dialect has none."""
        return self._dialect.channel(self._pool, channel, end, how)

    def transfer_ends(self, channel: Channel, end: End) -> Sequence[Any]:
        """What tells the transfers of a channel."""
        return self._dialect.transfer_ends(self._pool, channel, end)

    def _current(self) -> Any:
        """A shallow copy of the current root, so that what is set for one request stays there."""
        if self._root is None:
            raise RuntimeError("the pool has to be reset first")
        return self._root.copy()

    def _with_actions(self, actions: Floats) -> Any:
        request = self._current()
        self._layout.act(request, actions)
        return request

    def _merge(self, root: Any, children: Sequence[int]) -> None:
        """Make these the current roots of their children."""
        if list(children) == list(range(self._children)):
            self._root = root
            return
        roots = [_alike(each) for each in self._root.unbind(0)]
        for row, child in enumerate(children):
            roots[child] = _alike(root[row])
        self._root = self._stack(roots)

    def _after_reset(self, root: Any) -> Batch:
        return Batch(
            env_index=self._layout.envs(_children(root)),
            observation=self._layout.observations(root),
            normal=self._normal(root),
            handed=tensors(root),
        )

    def _after_step(self, done: Any, root: Any) -> Batch:
        layout = self._layout
        return Batch(
            env_index=layout.envs(_children(root)),
            observation=layout.observations(root),
            normal=self._normal(done, "next"),
            handed=(*tensors(done), *tensors(root)),
            **self._transition(done),
        )

    def _after_rollout(self, batch: Any) -> Batch:
        """Rows of a [children, time] batch, child by child."""
        children, steps = batch.shape
        return Batch(
            env_index=_children(batch, [env for env in range(children) for _ in range(steps)]),
            observation=self._layout.observations(batch),
            handed=tensors(batch),
            **self._transition(batch),
        )

    def _normal(self, td: Any, *below: str) -> Any:
        return self._layout.column(td, "normal", *below) if self._normalised else None

    def _transition(self, done: Any) -> dict[str, Any]:
        layout = self._layout
        return {
            "action": layout.column(done, "action"),
            "reward": layout.column(done, "reward", "next"),
            "terminated": layout.column(done, "terminated", "next"),
            "truncated": layout.column(done, "truncated", "next"),
            "final_observation": layout.observations(done, "next"),
        }


def _alike(root: Any) -> Any:
    """A root of a step may hold the action that led there and name a device; one of a reset need not."""
    return root.exclude("action").to("cpu")


def _children(rows: Any, silent: Sequence[int] = ()) -> list[int]:
    """What the pool says which children these are; without a word, `silent`, or all in order."""
    said = rows.get(MARK, None)
    if said is None:
        return list(silent or range(rows.shape[0]))
    one_a_child = np.asarray(said.tolist()).reshape(rows.shape[0], -1)
    if silent:
        return [int(index) for index in one_a_child.reshape(-1)]
    return [int(index) for index in one_a_child[:, 0]]
