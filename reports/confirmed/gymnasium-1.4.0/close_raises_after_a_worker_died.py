"""Closing after an idle worker was killed must be no error."""

import os
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Idle(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}


envs = gymnasium.vector.AsyncVectorEnv([Idle, Idle], shared_memory=False, context="fork")
envs.reset()
os.kill(envs.processes[1].pid, signal.SIGKILL)
envs.processes[1].join()
try:
    envs.close()
    print("not reproduced")
except OSError as error:
    print(f"CONFIRMED: close() raised {error!r}")
    for process in envs.processes:
        process.kill()
    os._exit(1)
# observed: CONFIRMED: close() raised BrokenPipeError(32, 'Broken pipe')
