"""After a step_wait that timed out, the next step must not be answered by the late result."""

import multiprocessing
import sys
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box

STALL_S = 1.0


class Echo(gymnasium.Env):
    observation_space = action_space = Box(-1e6, 1e6, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        if action[0] == 1:
            time.sleep(STALL_S)
        return action, 0.0, False, False, {}


if __name__ == "__main__":
    envs = gymnasium.vector.AsyncVectorEnv([Echo], shared_memory=False)
    envs.reset()
    envs.step_async(np.ones((1, 1), np.float32))
    try:
        envs.step_wait(timeout=0.2)
    except multiprocessing.TimeoutError:
        time.sleep(2 * STALL_S)
    answer, *_ = envs.step(np.full((1, 1), 2, np.float32))
    envs.close(terminate=True)
    if answer[0, 0] == 1:
        print("CONFIRMED: the step with action 2 was answered by the step with action 1")
        sys.exit(1)
    print("not reproduced")
# observed: CONFIRMED: the step with action 2 was answered by the step with action 1
