"""An env that replies against its space must be refused, or its reply be cast: others' data stay float32."""

import functools
import sys

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import SubprocVecEnv


class Env(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def __init__(self, dtype: type) -> None:
        self.dtype = dtype

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, _: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(1, self.dtype), 0.0, False, False, {}


if __name__ == "__main__":
    makers = [functools.partial(Env, dtype) for dtype in (np.float32, np.float64)]
    envs = SubprocVecEnv(makers, start_method="fork")
    envs.reset()
    told = envs.step(np.zeros((2, 1), np.float32))[0].dtype
    envs.close()
    confirmed = told != envs.observation_space.dtype
    text = f"CONFIRMED: the space says {envs.observation_space.dtype}, the batch is {told}"
    print(text if confirmed else "not reproduced")
    sys.exit(confirmed)
# observed: CONFIRMED: the space says float32, the batch is float64
