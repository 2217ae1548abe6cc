"""The reference's pool with one bug each that shows when parameters change, or when a worker is replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.planted.variants import planted
from reference_impl.pool import AsyncEnvPool, Reinit
from reference_impl.pool import restarts as restarts_module
from reference_impl.pool.env_params import When
from reference_impl.pool.messages import Built
from reference_impl.pool.options import Options
from reference_impl.pool.restarts import RestartingConversation, Restarts, cut_off
from reference_impl.pool.values import Values

Indices = int | Sequence[int] | None
Mappings = Mapping[str, Any] | Sequence[Mapping[str, Any]]
Reinits = Sequence[str | Reinit]

EXCHANGES = frozenset({"value", "slots"})


class _FirstEnvOnly(AsyncEnvPool):
    def set_attr(self, name: str, values: Any, env_index: Indices = None) -> None:
        """Set it on the first of the envs that are named."""
        envs = self._envs(env_index)
        first = values[0] if isinstance(values, list | tuple) else values
        super().set_attr(name, first, env_index=envs[:1])


class _OutermostWrapper(AsyncEnvPool):
    def set_attr(self, name: str, values: Any, env_index: Indices = None) -> None:
        """Set it on the outermost wrapper, whoever has it."""
        envs = self._envs(env_index)
        each = values if isinstance(values, list | tuple) else [values] * len(envs)
        for env, value in zip(envs, each, strict=True):
            self.call("__setattr__", name, value, env_index=env)


class _Updating(AsyncEnvPool):
    """Changes what an update is asked for."""

    def update_env_params(
        self,
        values: Mappings,
        env_index: Indices = None,
        method: str | None = None,
        reinit_transforms: Reinits = (),
        when: When = "now",
    ) -> dict[int, int]:
        """Update; `_changed` says what."""
        reinits, when = self._changed(reinit_transforms, when)
        return super().update_env_params(values, env_index, method, reinits, when)

    def _changed(self, reinits: Reinits, when: When) -> tuple[Reinits, When]:
        raise NotImplementedError


class _AtOnce(_Updating):
    def _changed(self, reinits: Reinits, when: When) -> tuple[Reinits, When]:  # noqa: ARG002 - it is ignored
        return reinits, "now"


class _StatisticsKept(_Updating):
    def _changed(self, reinits: Reinits, when: When) -> tuple[Reinits, When]:  # noqa: ARG002 - they are ignored
        return (), when


class _FewerFrames(_Updating):
    def _changed(self, reinits: Reinits, when: When) -> tuple[Reinits, When]:
        fewer = [replace(each, kwargs={"num_iter": 4}) for each in reinits]  # type: ignore[type-var]  # the adapter gives no names
        return fewer, when


class _RebuiltForIt(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "on_worker_failure": "restart"})

    def set_attr(self, name: str, values: Any, env_index: Indices = None) -> None:
        """Have new workers whose envs begin with the value."""
        each = values if isinstance(values, list | tuple) else [values] * self.num_envs
        self.update_env_params([{name: value} for value in each], env_index)
        for pid in self.worker_pids:
            os.kill(pid, signal.SIGKILL)
        for env in range(self.num_envs):
            self._talk._lose(env)  # noqa: SLF001 - what finding it dead would do


class _Restarting(AsyncEnvPool):
    """Has another way of replacing workers."""

    def _kind(self) -> type[Restarts]:
        raise NotImplementedError

    def _conversation(self, options: Options, built: Sequence[Built]) -> Any:
        found = super()._conversation(options, built)
        if self._restarts is not None:
            self._restarts.__class__ = self._kind()
        return found


class _SameSeed(Restarts):
    def _seed(self, env: int) -> int:
        return self.seeds[env]


class _SeedRepeated(_Restarting):
    def _kind(self) -> type[Restarts]:
        return _SameSeed


class _Forgetful(Restarts):
    def replace(self, worker: int, envs: Sequence[int], lost: Any) -> Any:
        """Replace it, by one that has the first parameters."""
        self._updates = {}
        return super().replace(worker, envs, lost)


class _ParamsForgotten(_Restarting):
    def _kind(self) -> type[Restarts]:
        return _Forgetful


def _unmarked(built: Built, given: Values | None) -> Values:
    """What follows a step that was cut off, as if nothing had been."""
    following = cut_off(built, given)
    for key in ("done", "truncated"):
        following.entries[key].fill_(False)  # noqa: FBT003 - torch's
    return following


class _GoingOn(RestartingConversation):
    def _cut(self, env: int, call: Any) -> None:
        restarts_module.cut_off = _unmarked
        try:
            super()._cut(env, call)
        finally:
            restarts_module.cut_off = cut_off


class _CutUnmarked(AsyncEnvPool):
    def _conversation(self, options: Options, built: Sequence[Built]) -> Any:
        found = super()._conversation(options, built)
        if self._restarts is not None:
            found.__class__ = _GoingOn
        return found


first_env_only = planted("first_env_only", _FirstEnvOnly, exchange=EXCHANGES)
outermost_wrapper = planted("outermost_wrapper", _OutermostWrapper)
params_at_once = planted("params_at_once", _AtOnce)
statistics_kept = planted("statistics_kept", _StatisticsKept, exchange=EXCHANGES)
fewer_frames = planted("fewer_frames", _FewerFrames, exchange=EXCHANGES)
rebuilt_for_params = planted("rebuilt_for_params", _RebuiltForIt)
seed_repeated = planted("seed_repeated", _SeedRepeated)
params_forgotten = planted("params_forgotten", _ParamsForgotten, exchange=EXCHANGES)
cut_unmarked = planted("cut_unmarked", _CutUnmarked)
