"""The reference's pool with one bug each in what it does about workers that die, stop or fail."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDictBase

from harness.planted.variants import employing, planted, talking
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Operation
from reference_impl.pool.values import Values
from reference_impl.pool.workers import Worker


class _NeverKilled(Worker):
    def kill(self) -> None:
        """Leave a worker alone that does not hear SIGTERM."""


class _ErrorReportedTwice(AsyncEnvPool):
    _first: WorkerError | None = None

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        try:
            return super()._step(tensordict)
        except WorkerError as error:
            self._first = None if isinstance(error, WorkerDied) else error
            raise

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close, and raise what a step has raised before."""
        super().close(raise_if_closed=raise_if_closed)
        first, self._first = self._first, None
        if first is not None:
            raise first


class _ZerosForTheDead(Conversation):
    def ask(
        self,
        operation: Operation,
        calls: Mapping[int, Values | None],
        kwargs: Mapping[int, dict[str, Any]] | None = None,
    ) -> dict[int, Any]:
        """Ask one worker after the other; whoever is dead answers with zeros."""
        found: dict[int, Any] = {}
        for env, values in calls.items():
            given = {env: kwargs[env]} if kwargs else None
            with contextlib.suppress(WorkerDied):
                found |= super().ask(operation, {env: values}, given)
        answered = found[min(found)] if found else None
        return found | {env: _zeros(answered) for env in calls if env not in found}


def _zeros(answer: Any) -> Any:
    if isinstance(answer, tuple):
        return _zeros(answer[0]), None
    return answer.map(torch.zeros_like)


kill_withheld = planted("kill_withheld", employing(_NeverKilled))
error_reported_twice = planted("error_reported_twice", _ErrorReportedTwice)
dead_answered_for = planted("dead_answered_for", talking(_ZerosForTheDead))
