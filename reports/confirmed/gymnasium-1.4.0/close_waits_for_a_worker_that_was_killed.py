"""Closing after a worker was killed in a step must end."""

import os
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Dies(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        if action[0] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.zeros(1, np.float32), 0.0, False, False, {}


def overdue(*_: object) -> None:
    print("CONFIRMED: close() still blocks after 15 s")
    for process in envs.processes:
        process.kill()
    os._exit(1)


envs = gymnasium.vector.AsyncVectorEnv([Dies, Dies], shared_memory=False, context="fork")
envs.reset()
signal.signal(signal.SIGALRM, overdue)
try:
    envs.step(np.array([[0], [1]], np.float32))
except EOFError as error:
    print(f"the step raised {error!r}")
signal.alarm(15)
envs.close()
print("not reproduced")
# observed: CONFIRMED: close() still blocks after 15 s
