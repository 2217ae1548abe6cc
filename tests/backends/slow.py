"""Pools that are late: always, or only in the first run that finds a file missing."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from harness.ports.pool import Batch, Floats
from tests.backends.serial import SerialPool, backend_over

ONCE = "HARNESS_TEST_ONCE"  # names a file: whoever makes it is the late one
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


class CrashesBesideAChild(SerialPool):
    """The child keeps the cell from ending for longer than the step's grace."""

    def step(self, actions: Floats) -> Batch:
        subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os._exit(3)


always_late = backend_over(AlwaysLate, "always_late")
late_once = backend_over(LateOnce, "late_once")
crashes_beside_a_child = backend_over(CrashesBesideAChild, "crashes_beside_a_child")
