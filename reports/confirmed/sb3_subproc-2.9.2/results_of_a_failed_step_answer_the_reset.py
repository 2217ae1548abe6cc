"""After a step of which one result could not be rebuilt, reset must not read the others' old results."""

import sys

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import SubprocVecEnv


class Broken:
    def __reduce__(self) -> tuple:
        return int, ("cannot be rebuilt",)  # raises ValueError where it is read


class Env(gymnasium.Env):
    observation_space = action_space = Box(-1e6, 1e6, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        return action, 0.0, False, False, {"tag": Broken()} if action[0] == 0 else {}


if __name__ == "__main__":
    envs = SubprocVecEnv([Env, Env], start_method="fork")
    envs.reset()
    try:
        envs.step(np.array([[0], [1]], np.float32))
    except ValueError as error:
        print(f"step raised {error!r}")
    try:
        envs.reset()
    except ValueError as error:
        print(f"CONFIRMED: reset raised {error!r}: it was answered by the step")
        sys.exit(1)
    print("not reproduced")
# observed: CONFIRMED: reset raised ValueError('zip() argument 2 is longer ...'): it was answered by the step
