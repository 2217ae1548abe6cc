"""The arguments of a pool, checked before anything is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from reference_impl.core import arena
from reference_impl.core.ownership import START_METHODS, StartMethod
from reference_impl.pool.factories import Factory
from reference_impl.pool.values import STACKS, Stack
from reference_impl.pool.workers import Backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchrl.envs import EnvBase

    Maker: TypeAlias = Callable[..., Any] | EnvBase
    Kwargs: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


Exchange = Literal["queue", "shm", "auto"]
OnFailure = Literal["raise", "restart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a pool runs its envs.

    Attributes:
        backend: what a worker is, a process or a thread.
        stack: how results of several envs become one tensordict.
        exchange: how data travels: by value, through shared slots, or through slots where the
            envs' specs allow it.
        start_method: how worker processes start; threads ignore it.
        shutdown_timeout: seconds for ending all workers.
        start_timeout: seconds for making all envs.
        on_worker_failure: whether a worker that is lost is an error, or replaced.
        max_restarts: how often the worker of an env is replaced.
        restart_backoff: seconds before an env's first restart; see `Restarts`.
        envs_per_worker: how many envs one worker has; the last one may have fewer.
    """

    backend: Backend
    stack: Stack
    exchange: Exchange
    start_method: StartMethod
    shutdown_timeout: float
    start_timeout: float
    on_worker_failure: OnFailure = "raise"
    max_restarts: int = 3
    restart_backoff: float = 0.05
    envs_per_worker: int = 1

    @property
    def may_use_slots(self) -> bool:
        """Whether workers are to be given what shared slots need."""
        processes = self.backend == "multiprocessing"
        return self.exchange != "queue" and processes and arena.supported()

    def __post_init__(self) -> None:
        _one_of("backend", self.backend, get_args(Backend))
        _one_of("stack", self.stack, STACKS)
        _one_of("exchange", self.exchange, get_args(Exchange))
        if self.exchange == "shm":
            if self.backend != "multiprocessing":
                raise ValueError(
                    f"exchange='shm' needs worker processes, got backend={self.backend!r}"
                )
            if not arena.supported():
                raise ValueError("exchange='shm' needs Linux: use exchange='auto' or 'queue'")
        _one_of("start_method", self.start_method, START_METHODS)
        _positive("shutdown_timeout", self.shutdown_timeout)
        _positive("start_timeout", self.start_timeout)
        _one_of("on_worker_failure", self.on_worker_failure, get_args(OnFailure))
        _positive("restart_backoff", self.restart_backoff)
        if self.max_restarts < 1:
            raise ValueError(f"max_restarts must be positive, got {self.max_restarts!r}")
        per_worker = self.envs_per_worker
        if type(per_worker) is not int or per_worker < 1:
            raise ValueError(f"envs_per_worker must be a positive int, got {per_worker!r}")


def factories(env_makers: Maker | Sequence[Maker], create_env_kwargs: Kwargs) -> list[Factory]:
    """Return one factory an env.

    Raises:
        ValueError: there is no maker, or the number of keyword dictionaries differs from the
            makers'.
    """
    makers = list(env_makers) if isinstance(env_makers, Sequence) else [env_makers]
    if not makers:
        raise ValueError(f"env_makers must name at least one env, got {env_makers!r}")
    if create_env_kwargs is None or isinstance(create_env_kwargs, Mapping):
        all_kwargs = [dict(cast("Mapping[str, Any]", create_env_kwargs or {})) for _ in makers]
    else:
        all_kwargs = [dict(kwargs) for kwargs in create_env_kwargs]
    if len(all_kwargs) != len(makers):
        raise ValueError(
            f"create_env_kwargs must be a dict or {len(makers)} dicts, got {len(all_kwargs)}"
        )
    return [
        Factory(maker=maker, kwargs=kwargs)
        for maker, kwargs in zip(makers, all_kwargs, strict=True)
    ]


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def _positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be a positive number of seconds, got {value!r}")
