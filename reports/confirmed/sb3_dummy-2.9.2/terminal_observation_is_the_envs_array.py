"""The terminal observation must not be overwritten by the reset of an env that reuses its array."""

import signal
import sys

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv


class Reuses(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)
    shown = np.zeros(1, np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        self.shown[:] = 0
        return self.shown, {}

    def step(self, _: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.shown[:] = 7
        return self.shown, 0.0, True, False, {}


def terminal(kind: type) -> float:
    envs = kind([Reuses])
    envs.reset()
    *_, infos = envs.step(np.zeros((1, 1), np.float32))
    envs.close()
    return float(infos[0]["terminal_observation"][0])


if __name__ == "__main__":
    signal.alarm(60)
    found = {kind.__name__: terminal(kind) for kind in (DummyVecEnv, SubprocVecEnv)}
    text = f"CONFIRMED: the last observation is 7, told is {found}"
    confirmed = set(found.values()) != {7.0}
    print(text if confirmed else "not reproduced")
    sys.exit(confirmed)
# observed: CONFIRMED: the last observation is 7, told is {'DummyVecEnv': 0.0, 'SubprocVecEnv': 0.0}
