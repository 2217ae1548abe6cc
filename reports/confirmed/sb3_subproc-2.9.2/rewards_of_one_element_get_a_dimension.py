"""Rewards of shape (1,) must come as [num_envs]."""

import signal
import sys

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import SubprocVecEnv


class Env(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, _: object) -> tuple[np.ndarray, np.ndarray, bool, bool, dict]:
        return np.zeros(1, np.float32), np.ones(1), False, False, {}


if __name__ == "__main__":
    signal.alarm(60)
    envs = SubprocVecEnv([Env] * 2, start_method="fork")
    envs.reset()
    _, rewards, *_ = envs.step(np.zeros((2, 1), np.float32))
    envs.close()
    confirmed = rewards.shape != (2,)
    print(
        f"CONFIRMED: rewards of 2 envs have shape {rewards.shape}"
        if confirmed
        else "not reproduced"
    )
    sys.exit(confirmed)
# observed: CONFIRMED: rewards of 2 envs have shape (2, 1)
