"""The gymnasium backend: `AsyncVectorEnv` in its default autoreset mode."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from harness.adapters import _gymnasium_env as form
from harness.ports import pool as port
from harness.ports.backend import Backend


class _Pool(form.ByAttribute):
    def __init__(self, setup: port.PoolSetup, envs: Sequence[port.EnvFactory], _: float) -> None:
        make = functools.partial(gymnasium.vector.AsyncVectorEnv, context=setup.start_method)
        probes = [functools.partial(form.GymnasiumProbe, factory) for factory in envs]
        self._envs = make(probes, shared_memory=setup.exchange == "slots")
        self._index = range(setup.num_envs)

    def reset(self, **options: Any) -> port.Batch:
        return self._batch(self._envs.reset(**options)[0])

    def reset_where(self, mask: port.Bools) -> port.Batch:
        return self.reset(options={"reset_mask": mask})

    def step(self, actions: port.Floats) -> port.Batch:
        self.send(actions)
        return self.recv()

    def send(self, actions: port.Floats) -> None:
        self._envs.step_async(np.asarray(actions, dtype=np.float32).reshape(-1, 1))

    def recv(self, *, min_get: int = 0, timeout_s: float | None = None) -> port.Batch:  # noqa: ARG002 - it waits for all
        try:
            return self._batch(*self._envs.step_wait(timeout_s)[:4])
        except multiprocessing.TimeoutError as error:
            raise TimeoutError(str(error)) from error  # the builtin one: the port's

    def _batch(self, observation: Any, *rest: Any) -> port.Batch:
        data = dict(zip(("reward", "terminated", "truncated"), rest, strict=False))
        seen, handed = form.rows(observation, len(self._index)), form.arrays(observation, *rest)
        return port.Batch(env_index=self._index, observation=seen, handed=tuple(handed), **data)

    def seed(self, value: int) -> None:
        self._envs.reset(seed=value)

    def close(self) -> None:
        self._envs.close()

    def transfer_ends(self, _channel: port.Channel, _end: port.End) -> list[int]:
        return [pipe.fileno() for pipe in self._envs.parent_pipes]

    def worker_pids(self) -> list[int]:
        return [process.pid for process in self._envs.processes if process.pid]


_CAPABILITIES = port.PoolCapabilities(
    verbs=frozenset({"reset_where", "send", "recv", "seed", "params_attribute"}),
    setup={
        "exchange": frozenset({"value", "slots"}),
        "start_method": port.START_METHODS,
        "payload": form.FLAT | {"nested", "reward_array"},
        "ends": form.ENDS,
    },
    promises_forms=True,
    transfers={"process": frozenset({"commands", "results"})},
    once=frozenset({"commands", "results"}),  # one pipe a worker: it repeats nothing
    autoreset="next_step",
)
_PORT = port.PoolPort(capabilities=_CAPABILITIES, make=_Pool)
_version = functools.partial(getattr, gymnasium, "__version__")
backend = Backend(name="gymnasium", version=_version, packages=("gymnasium",), pool=_PORT)
