"""Pools that are late: always, or only in the first run that finds a file missing."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from harness.ports.pool import Batch, EnvFactory, Floats, PoolSetup
from tests.backends.serial import SerialPool, backend_over

ONCE = "HARNESS_TEST_ONCE"  # names a file: whoever makes it is the late one
TOLD = "HARNESS_TEST_TOLD"  # names a file: whoever was there says when
SHORT = 2
IN_TIME_S = 0.4
LATE_S = 1.3  # past the deadline of three_steps, within its grace


class AlwaysLate(SerialPool):
    def step(self, actions: Floats) -> Batch:
        time.sleep(LATE_S)
        return super().step(actions)


class LateOnce(SerialPool):
    def step(self, actions: Floats) -> Batch:
        once = Path(os.environ[ONCE])
        if not once.exists():
            once.touch()
            time.sleep(LATE_S)
        return super().step(actions)


class TellsWhenItWasThere(SerialPool):
    """Late in its first step where episodes are short; a line for each pool, once it is closed: horizon, from, to."""

    def __init__(self, setup: PoolSetup, factories: Sequence[EnvFactory], within_s: float) -> None:
        self._began, self._stepped = time.monotonic_ns(), False
        super().__init__(setup, factories, within_s)

    def step(self, actions: Floats) -> Batch:
        if not self._stepped:
            self._stepped = True
            time.sleep(LATE_S if self.setup.horizon == SHORT else IN_TIME_S)
        return super().step(actions)

    def close(self) -> None:
        super().close()
        with open(os.environ[TOLD], "a", encoding="utf-8") as told:
            told.write(f"{self.setup.horizon} {self._began} {time.monotonic_ns()}\n")


class CrashesBesideAChild(SerialPool):
    """The child keeps the cell from ending for longer than the step's grace."""

    def step(self, actions: Floats) -> Batch:
        subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os._exit(3)


always_late = backend_over(AlwaysLate, "always_late")
tells_when_it_was_there = backend_over(TellsWhenItWasThere, "tells_when_it_was_there")
late_once = backend_over(LateOnce, "late_once")
crashes_beside_a_child = backend_over(CrashesBesideAChild, "crashes_beside_a_child")
