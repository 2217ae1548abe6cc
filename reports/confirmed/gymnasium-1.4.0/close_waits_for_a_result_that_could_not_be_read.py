"""After a step whose result could not be rebuilt, close must not wait for that result again."""

import os
import signal

import gymnasium
import numpy as np
from gymnasium.spaces import Box

PATIENCE_S = 10


def refuse() -> None:
    raise ValueError("cannot be rebuilt")


class Broken:
    def __reduce__(self) -> tuple:
        return refuse, ()


class Env(gymnasium.Env):
    observation_space = action_space = Box(-1e6, 1e6, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        return action, 0.0, False, False, {"tag": Broken()} if action[0] == 0 else {}


def overdue(*_: object) -> None:
    print(f"CONFIRMED: after {PATIENCE_S} s close() still waits")
    os._exit(1)


if __name__ == "__main__":
    envs = gymnasium.vector.AsyncVectorEnv([Env, Env], shared_memory=False)
    envs.reset()
    try:
        envs.step(np.array([[0], [1]], np.float32))
    except ValueError as error:
        print(f"step raised {error!r}")
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(PATIENCE_S)
    envs.close()
    print("not reproduced")
# observed: CONFIRMED: after 10 s close() still waits
