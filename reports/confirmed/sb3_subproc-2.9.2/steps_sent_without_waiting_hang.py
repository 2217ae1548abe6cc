"""A step that is sent while others are in flight must be refused at some point, not wait for ever."""

import os
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import SubprocVecEnv


class Still(gymnasium.Env):
    observation_space = action_space = Box(-1, 1, (8,), np.float32)

    def reset(self, **_: object) -> tuple:
        return np.zeros(8, np.float32), {}

    def step(self, action: np.ndarray) -> tuple:
        return action, 0.0, False, False, {}


if __name__ == "__main__":
    os.setpgrp()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    envs = SubprocVecEnv([Still, Still])
    envs.reset()
    sent = 0

    def give_up(*_: object) -> None:
        print(f"CONFIRMED: {sent} steps are taken, the next waits for more than 5 s")
        os.killpg(0, signal.SIGTERM)

    signal.signal(signal.SIGALRM, give_up)
    while sent < 3000:
        signal.alarm(5)
        envs.step_async(np.zeros((2, 8), np.float32))
        sent += 1
    print("not reproduced")
# observed: CONFIRMED: 335 steps are taken, the next waits for more than 5 s
