"""After a step whose result could not be rebuilt, close must not wait for that result again."""

import contextlib
import os
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Broken:
    def __reduce__(self) -> tuple:
        return int, ("cannot be rebuilt",)  # raises ValueError where it is read


class Env(gymnasium.Env):
    observation_space = action_space = Box(-1e6, 1e6, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        return action, 0.0, False, False, {"tag": Broken()} if action[0] == 0 else {}


def overdue(*_: object) -> None:
    print("CONFIRMED: after 10 s close() still waits", flush=True)
    os._exit(1)


envs = gymnasium.vector.AsyncVectorEnv([Env, Env], shared_memory=False, context="fork")
envs.reset()
with contextlib.suppress(ValueError):
    envs.step(np.array([[0], [1]], np.float32))
signal.signal(signal.SIGALRM, overdue)
signal.alarm(10)
envs.close()
print("not reproduced")
# observed: CONFIRMED: after 10 s close() still waits
