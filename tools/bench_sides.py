"""The sides that the benches of the pool compare: each does one step of all envs a call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv
from tensordict import TensorDict
from torchrl.envs import AsyncEnvPool as TorchRLPool

from reference_impl.core.arena import Arena
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.fast_tensordicts import tensordict_of
from reference_impl.pool.indices import stacked_index

Makers = Sequence[Callable[[], Any]]


class Side(Protocol):
    """One way of stepping many envs."""

    def step(self) -> object:
        """Step all of them once, and reset those that are done."""
        ...

    def close(self) -> None:
        """End what it started."""
        ...


class PoolSide:
    """A pool of torchrl's vocabulary."""

    def __init__(self, pool: Any, num_envs: int) -> None:
        self._pool = pool
        self._action = torch.zeros(num_envs, 1)
        self._root = pool.reset()

    def step(self) -> object:
        """One `step_and_maybe_reset`."""
        stepped, self._root = self._pool.step_and_maybe_reset(
            self._root.set("action", self._action)
        )
        return stepped

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


class HalfBatches:
    """Results are received by half of the envs, and those are sent on at once."""

    def __init__(self, pool: Any, num_envs: int) -> None:
        self._pool = pool
        self._half = num_envs // 2
        self._action = torch.zeros(self._half, 1)
        pool.async_step_and_maybe_reset_send(pool.reset().set("action", torch.zeros(num_envs, 1)))

    def step(self) -> object:
        """As many steps as there are envs."""
        self._half_step()
        return self._half_step()

    def _half_step(self) -> object:
        came = self._pool.async_step_and_maybe_reset_recv(self._half, max_get=self._half)
        self._pool.async_step_and_maybe_reset_send(came[1].set("action", self._action))
        return came

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


class GymnasiumSide:
    """Gymnasium's own vector of processes, with shared memory."""

    def __init__(self, makers: Makers) -> None:
        self._envs = AsyncVectorEnv(makers, context="fork")
        self._action = np.zeros((len(makers), 1), np.float32)
        self._envs.reset()

    def step(self) -> object:
        """One `step`."""
        return self._envs.step(self._action)

    def close(self) -> None:
        """Close the envs."""
        self._envs.close()


class LeasedSide:
    """Actions are sent to all, and what comes is lent and looked at."""

    def __init__(self, pool: Any, num_envs: int) -> None:
        self._pool = pool
        self._num = num_envs
        self._every = range(num_envs)
        self._action = TensorDict({"action": torch.zeros(num_envs, 1)}, batch_size=[num_envs])
        pool.reset()

    def step(self) -> object:
        """One send, one receive, one look."""
        self._pool.async_step_and_maybe_reset_send(self._action, self._every)
        with self._pool.async_step_and_maybe_reset_lease(self._num) as (_, roots):
            return roots.get("observation")

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


class BareLoop:
    """The least that it takes: an eventfd each way, shared memory, and the tensordicts to return."""

    def __init__(self, makers: Makers, envs_per_worker: int = 1) -> None:
        self._num = len(makers)
        firsts = range(0, self._num, envs_per_worker)
        self._asked = [os.eventfd(0) for _ in firsts]
        self._answered = [os.eventfd(0) for _ in firsts]
        env = makers[0]()
        space = env.observation_space
        assert isinstance(space, gymnasium.spaces.Box)
        arena = Arena()
        width = max(space.dtype.itemsize * int(np.prod(space.shape)), 8)
        arena.resize(self._num * (2 * width + 64))
        memory = arena.map()
        arena.release()
        self._columns = [
            _column(memory, at * self._num, self._num, each, dtype)
            for at, each, dtype in (
                (0, (1,), torch.float32),  # action
                (4, (1,), torch.float32),  # reward
                (8, (3,), torch.uint8),  # done, terminated, truncated
                (64, space.shape, _DTYPES[space.dtype.str]),
                (64 + width, space.shape, _DTYPES[space.dtype.str]),
            )
        ]
        self._pids = [
            self._fork(worker, first, makers[first : first + envs_per_worker])
            for worker, first in enumerate(firsts)
        ]
        self._action = torch.zeros(self._num, 1)
        self._root = TensorDict({}, batch_size=[self._num])
        self._size = self._root.batch_size

    def _fork(self, worker: int, first: int, makers: Makers) -> int:
        pid = os.fork()  # noqa: TID251 - nothing else is as bare
        if pid:
            return pid
        try:
            self._work(worker, first, [maker() for maker in makers])
        finally:
            os._exit(0)

    def _work(self, worker: int, first: int, envs: Sequence[Any]) -> None:
        torch.set_num_threads(1)
        mine = [
            (env, *(column[first + i].numpy() for column in self._columns))
            for i, env in enumerate(envs)
        ]
        asked, answered = self._asked[worker], self._answered[worker]
        for env in envs:
            env.reset()
        while True:
            os.read(asked, 8)
            for env, action, reward, flags, shown, root in mine:
                observation, value, terminated, truncated, _ = env.step(action.copy())
                shown[...] = observation
                reward[0] = value
                over = terminated or truncated
                flags[:] = over, terminated, truncated
                root[...] = env.reset()[0] if over else observation
            os.write(answered, _ONE)

    def step(self) -> object:
        """Ring, wait, copy out, build."""
        action, reward, flags, shown, root = self._columns
        action.copy_(self._action)
        for fd in self._asked:
            os.write(fd, _ONE)
        for fd in self._answered:
            os.read(fd, 8)
        bits = flags.view(torch.bool)
        names = ("done", "terminated", "truncated")
        done = {name: bits[:, i : i + 1].clone() for i, name in enumerate(names)}
        following = {"observation": shown.clone(), "reward": reward.clone(), **done}
        entries = {**dict(self._root.items()), "action": self._action}
        entries["next"] = tensordict_of(following, self._size, None)
        entries["env_index"] = stacked_index(range(self._num), ())
        stepped = tensordict_of(entries, self._size, None)
        entries = {"action": self._action, "observation": root.clone(), **done}
        entries["env_index"] = stacked_index(range(self._num), ())
        self._root = tensordict_of(entries, self._size, None)
        return stepped

    def close(self) -> None:
        """Kill the workers: they have nothing to clean up."""
        for pid in self._pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        for fd in (*self._asked, *self._answered):
            os.close(fd)


_ONE = (1).to_bytes(8, "little")
_DTYPES = {"<f4": torch.float32, "|u1": torch.uint8}


def _column(
    memory: torch.Tensor, at: int, num: int, shape: Sequence[int], dtype: torch.dtype
) -> torch.Tensor:
    size = num * int(np.prod(shape)) * dtype.itemsize
    return memory[at : at + size].view(dtype).view(num, *shape)


def ours(makers: Makers, **options: Any) -> PoolSide:
    """The reference's pool."""
    return PoolSide(AsyncEnvPool(makers, **{"start_method": "fork", **options}), len(makers))


def ours_by_half(makers: Makers) -> HalfBatches:
    """The reference's pool, received by half batches."""
    return HalfBatches(AsyncEnvPool(makers, start_method="fork"), len(makers))


def leased(makers: Makers) -> LeasedSide:
    """The reference's pool, whose batches are lent."""
    return LeasedSide(AsyncEnvPool(makers, start_method="fork"), len(makers))


def torchrl(makers: Makers, exchange: str) -> PoolSide:
    """The pool of processes of torchrl."""
    pool = TorchRLPool(list(makers), backend="multiprocessing", exchange=exchange)
    return PoolSide(pool, len(makers))
