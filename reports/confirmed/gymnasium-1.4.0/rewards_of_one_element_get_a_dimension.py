"""Rewards of shape (1,) must come as [num_envs], in every step (Farama-Foundation/Gymnasium#1445)."""

import signal
import sys

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Env(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool, bool, dict]:
        return np.zeros(1, np.float32), np.ones(1), bool(action[0] > 0), False, {}


if __name__ == "__main__":
    signal.alarm(60)
    envs = gymnasium.vector.AsyncVectorEnv([Env] * 2, context="fork")
    envs.reset()
    _, rewards, *_ = envs.step(np.array([[1.0], [0.0]], np.float32))
    try:
        envs.step(np.zeros((2, 1), np.float32))
        text = "no error"
    except ValueError as error:
        text = f"ValueError: {error}"[:40]
    envs.close(terminate=True)
    confirmed = rewards.shape != (2,)
    text = f"rewards of 2 envs have shape {rewards.shape}; beside an autoreset: {text}..."
    print(f"CONFIRMED: {text}" if confirmed else "not reproduced")
    sys.exit(confirmed)
# observed: CONFIRMED: rewards of 2 envs have shape (2, 1); beside an autoreset: ValueError: setting an array ...
