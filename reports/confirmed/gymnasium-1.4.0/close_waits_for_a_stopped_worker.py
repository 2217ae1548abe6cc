"""Closing, also by force, must not wait for ever for a worker that is stopped."""

import os
import signal
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box

PATIENCE_S = 10


class Stops(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, _: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        os.kill(os.getpid(), signal.SIGSTOP)
        return np.zeros(1, np.float32), 0.0, False, False, {}


def overdue(*_: object) -> None:
    print(f"CONFIRMED: close(timeout=1, terminate=True) still blocks after {PATIENCE_S} s")
    for process in envs.processes:
        process.kill()
    os._exit(1)


envs = gymnasium.vector.AsyncVectorEnv([Stops], shared_memory=False, context="fork")
envs.reset()
envs.step_async(np.zeros((1, 1), np.float32))
time.sleep(1)
signal.signal(signal.SIGALRM, overdue)
signal.alarm(PATIENCE_S)
envs.close(timeout=1, terminate=True)
print("not reproduced")
# observed: CONFIRMED: close(timeout=1, terminate=True) still blocks after 10 s
