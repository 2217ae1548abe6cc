"""The torchrl_parallel backend: torchrl's `ParallelEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchrl import _utils as torchrl_utils
from torchrl.envs import ParallelEnv

from harness.adapters._torchrl_batched import USE_BUFFERS, backend_of, close
from harness.adapters.tensordict_pool import Dialect
from harness.payloads.tensordict_env import env_makers
from harness.ports.backend import own_bound
from harness.ports.pool import START_METHODS, Channel, End, EnvFactory, PoolSetup

_START_BOUND = 0.4  # of the deadline: what failed to start is waited for and ended after it


def _grace_s(setup: PoolSetup, deadline_s: float) -> float:
    """A `shutdown_timeout` that fits: it is waited for once a worker, for their exit, and to end them."""
    return own_bound(deadline_s) / (setup.num_envs + 2)


def _start_bound_s(setup: PoolSetup) -> float:
    """What `BATCHED_PIPE_TIMEOUT` has to be; the environment variable itself is read on import."""
    return _START_BOUND * setup.start_within_s


def _build(setup: PoolSetup, factories: Sequence[EnvFactory], deadline_s: float) -> Any:
    torchrl_utils.BATCHED_PIPE_TIMEOUT = _start_bound_s(setup)
    use_buffers = USE_BUFFERS[setup.exchange]
    makers = env_makers(factories)
    pool = ParallelEnv(
        len(makers),
        makers,
        use_buffers=use_buffers,
        # Else it makes an env of each in the caller's process too, and a fault of a worker strikes there.
        metadata_from_workers=use_buffers is False,
        mp_start_method=setup.start_method,
        shutdown_timeout=_grace_s(setup, deadline_s),
    )
    if pool.is_closed:
        pool.start()  # left to itself it starts its workers in the first reset
    return pool


def _worker_pids(pool: Any) -> list[int]:
    return [process.pid for process in pool._workers]  # noqa: SLF001 - it has no public way to tell


def _transfer_ends(pool: Any, _channel: Channel, _end: End) -> list[int]:
    return [pipe.fileno() for pipe in pool.parent_channels]


def _remarks(setup: PoolSetup, deadline_s: float) -> tuple[str, ...]:
    grace_s, start_s = _grace_s(setup, deadline_s), _start_bound_s(setup)
    return (
        f"shutdown_timeout is {grace_s:.2g} s, for each worker; torchrl's default is 10 s",
        f"BATCHED_PIPE_TIMEOUT is {start_s:g} s; torchrl's default is 10000 s",
    )


backend = backend_of(
    "torchrl_parallel",
    {"start_method": START_METHODS},
    Dialect(
        build=_build,
        worker_pids=_worker_pids,
        transfer_ends=_transfer_ends,
        close=close,
        remarks=_remarks,
    ),
    transfers={"process": frozenset({"commands", "results"})},
)
