"""The reference's pool with one bug each in what a replaced worker is told of its env's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.planted.params import EXCHANGES, Indices, Mappings, Reinits
from harness.planted.variants import planted
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.env_params import When
from reference_impl.pool.messages import Built
from reference_impl.pool.options import Options
from reference_impl.pool.restarts import Restarts


class _WaitingForgotten(AsyncEnvPool):
    """Takes note of what is in force, and not of what waits."""

    def update_env_params(
        self,
        values: Mappings,
        env_index: Indices = None,
        method: str | None = None,
        reinit_transforms: Reinits = (),
        when: When = "now",
    ) -> dict[int, int]:
        """Update, and forget what waits for a reset."""
        before = {env: list(log) for env, log in self._params_log.items()}
        done = super().update_env_params(values, env_index, method, reinit_transforms, when)
        if when == "reset":
            self._params_log.clear()
            self._params_log.update(before)
        return done


class _ToldOnce(Restarts):
    def replace(self, worker: int, envs: Sequence[int], lost: Any) -> Any:
        """Replace it, and forget what the new one was told."""
        replaced = super().replace(worker, envs, lost)
        self._updates = {each: log for each, log in self._updates.items() if each not in envs}
        return replaced


class _ParamsToldOnce(AsyncEnvPool):
    def _conversation(self, options: Options, built: Sequence[Built]) -> Any:
        found = super()._conversation(options, built)
        if self._restarts is not None:
            self._restarts.__class__ = _ToldOnce
        return found


waiting_forgotten = planted("waiting_forgotten", _WaitingForgotten, exchange=EXCHANGES)
params_told_once = planted("params_told_once", _ParamsToldOnce, exchange=EXCHANGES)
