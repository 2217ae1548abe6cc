"""Closing, twice, after a worker died while the others' results are unread must be no error, and end."""

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
    print(f"CONFIRMED: the first close raised {raised!r}, the second blocks for 10 s", flush=True)
    envs.processes[0].kill()
    os._exit(1)


envs = gymnasium.vector.AsyncVectorEnv([Dies, Dies], shared_memory=False, context="fork")
envs.reset()
envs.step_async(np.array([[0], [1]], np.float32))
signal.signal(signal.SIGALRM, overdue)
signal.alarm(10)
try:
    envs.close()
except EOFError as error:
    raised = error
    envs.close()
print("not reproduced")
# observed: CONFIRMED: the first close raised EOFError(), the second blocks for 10 s
