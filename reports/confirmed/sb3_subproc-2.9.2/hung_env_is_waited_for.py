"""An env that hangs in its constructor, a step or its close must not be waited for without a bound."""

import sys
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import SubprocVecEnv

PATIENCE_S = 5


class Hangs(gymnasium.Env):
    observation_space = action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, at: str) -> None:
        if at == "constructor":
            self.hang()
        setattr(self, at, self.hang)

    def hang(self, *_: object) -> tuple:
        time.sleep(2 * PATIENCE_S)
        return np.zeros(1, np.float32), 0.0, False, False, {}


def waited_s(at: str) -> float:
    started = time.monotonic()
    envs = SubprocVecEnv([lambda: Hangs(at)])
    if at == "step":
        envs.step_async(np.zeros((1, 1)))
    envs.close()
    return time.monotonic() - started


if __name__ == "__main__":
    found = [at for at in ("constructor", "step", "close") if waited_s(at) > 2 * PATIENCE_S]
    print(f"CONFIRMED: no bound on a hang in {', '.join(found)}" if found else "not reproduced")
    sys.exit(bool(found))
# observed: CONFIRMED: no bound on a hang in constructor, step, close
