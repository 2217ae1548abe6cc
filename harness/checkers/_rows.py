"""The rows of a pool's batches, decoded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.model import probe
from harness.model.history import Operation
from harness.model.probe import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one env answered.

    Attributes:
        env: whose row it is, as the backend says.
        observation: its current observation; for a rollout the one before the transition.
        final: the last observation of an episode that ended; for a rollout the one after the
            transition; None where the batch has none.
        action: what the backend says it took; None after a reset.
        reward: None after a reset.
        terminated: None after a reset.
        truncated: None after a reset.
        normal: what the child's transform made of its level; None if it has none.
        unreadable: why an observation could not be decoded, if so.
    """

    env: int
    observation: Observation | None
    final: Observation | None = None
    action: float | None = None
    reward: float | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    unreadable: str | None = None
    normal: float | None = None

    @property
    def cut_off(self) -> bool:
        """Whether it says of itself that the env was lost in this step: no step of the probe has reward 0."""
        return self.reward == 0.0 and bool(self.truncated)

    @property
    def ended(self) -> bool:
        """Whether the batch says that the episode ended."""
        return bool(self.terminated) or bool(self.truncated)

    def landed(self, *, same_step: bool) -> Observation | None:
        """The observation that a step led to: the final one if the env was reset within the step."""
        return self.final if same_step and self.ended else self.observation

    def claims(self, action: int) -> bool:
        """Whether the batch's own action, if there is one, is this one."""
        return self.action is None or (math.isfinite(self.action) and round(self.action) == action)


def rows_of(operation: Operation) -> list[Row]:
    """The rows of an operation of the pool, in the order of the batch."""
    return [_row(plain, is_rollout=operation.op == "rollout") for plain in operation.rows]


def _row(plain: Mapping[str, Any], *, is_rollout: bool) -> Row:
    # Where no episode ended the final observation means nothing, so it is not even read.
    ended = bool(plain.get("terminated")) or bool(plain.get("truncated"))
    observation, problem = _decoded(plain.get("obs"))
    final, final_problem = _decoded(plain.get("final")) if ended or is_rollout else (None, None)
    return Row(
        env=int(plain["env"]),
        observation=observation,
        final=final,
        action=plain.get("action"),
        reward=plain.get("reward"),
        terminated=plain.get("terminated"),
        truncated=plain.get("truncated"),
        unreadable=problem or final_problem,
        normal=plain.get("normal"),
    )


def _decoded(entries: Any) -> tuple[Observation | None, str | None]:
    if entries is None:
        return None, None
    if isinstance(entries, str):  # the driver could not read it: this is why
        return None, entries
    try:
        return probe.decode(entries), None
    except (ValueError, TypeError) as error:
        return None, str(error)
