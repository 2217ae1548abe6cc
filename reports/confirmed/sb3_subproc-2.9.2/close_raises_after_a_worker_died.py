"""Closing after all workers were killed, and a step has said so, must be no error."""

import os
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import SubprocVecEnv


class Idle(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}


envs = SubprocVecEnv([Idle, Idle], start_method="fork")
envs.reset()
for process in envs.processes:
    os.kill(process.pid, signal.SIGKILL)
    process.join()
try:
    envs.step(np.zeros((2, 1), np.float32))
except OSError as error:
    print(f"the step raised {error!r}")
try:
    envs.close()
    print("not reproduced")
except (OSError, EOFError) as error:
    print(f"CONFIRMED: close() raised {error!r}")
    os._exit(1)
# observed: CONFIRMED: close() raised BrokenPipeError(32, 'Broken pipe')
