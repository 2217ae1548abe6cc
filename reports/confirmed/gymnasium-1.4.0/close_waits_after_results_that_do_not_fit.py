"""Closing must not wait for results that a step has taken already and could not put together."""

import os
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box

PATIENCE_S = 10


class Grows(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (2,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(2, np.float32), {}

    def step(self, _: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(3, np.float32), 0.0, False, False, {}  # not what the space says


def overdue(*_: object) -> None:
    print(f"CONFIRMED: close still blocks after {PATIENCE_S} s")
    for process in envs.processes:
        process.kill()
    os._exit(1)


envs = gymnasium.vector.AsyncVectorEnv([Grows] * 2, shared_memory=False, context="fork")
envs.reset()
try:
    envs.step(np.zeros((2, 2), np.float32))
except ValueError as error:
    print(f"step raised, as it should: {error}")
signal.signal(signal.SIGALRM, overdue)
signal.alarm(PATIENCE_S)
envs.close()
print("not reproduced")
# observed: CONFIRMED: close still blocks after 10 s
