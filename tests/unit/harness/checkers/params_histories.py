"""An honest pool whose envs have a level, and may be lost."""

from __future__ import annotations

from typing import Any

from harness.model import probe
from harness.model.history import Event
from tests.unit.harness.checkers.histories import PID, HonestPool


class LevelledPool(HonestPool):
    """Its rewards show the level of each env; tests spoil what it writes down."""

    def __init__(self, num_envs: int = 2) -> None:
        super().__init__(num_envs=num_envs)
        self.levels = [0] * num_envs
        self.normal: float | None = None
        self.recorder.ok(self.recorder.invoke("construct"), pids=[PID] * num_envs)

    def step_one(self, env: int, action: int) -> dict[str, Any]:
        row = super().step_one(env, action)
        row["reward"] += probe.LEVEL_UNIT * self.levels[env]
        return row if self.normal is None else {**row, "normal": self.normal}

    def set_params(
        self, level: int, *envs: int, pids: list[int] | None = None, **more: Any
    ) -> Event:
        """Tell of a change and, unless `more` says otherwise, make it."""
        named = list(envs or range(len(self.levels)))
        said = {"level": level, "envs": named, "when": "now", "reinit": False, **more}
        invoked = self.recorder.invoke("set_params", **said)
        for env in named if said["when"] == "now" else ():
            self.levels[env] = level
        return self.recorder.ok(invoked, pids=[PID] * len(self.levels) if pids is None else pids)

    def build_anew(self, level: int) -> Event:
        self.levels = [level] * len(self.levels)
        return self.recorder.call("build_anew", level=level)
