"""An explicit reset after the end of an episode starts one: the next step must step, not reset again."""

import sys

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Short(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.steps += 1
        return np.full(1, self.steps, np.float32), 1.0, self.steps == 2, False, {}


def first_step_after_reset(shared_memory: bool) -> float:
    envs = gymnasium.vector.AsyncVectorEnv([Short], shared_memory=shared_memory)
    action = np.zeros((1, 1), np.float32)
    envs.reset()
    envs.step(action)
    envs.step(action)  # ends the episode
    envs.reset()
    observation, *_ = envs.step(action)
    envs.close()
    return float(observation[0, 0])


if __name__ == "__main__":
    with_memory, without = first_step_after_reset(True), first_step_after_reset(False)
    if (with_memory, without) == (1.0, 0.0):
        print("CONFIRMED: with shared_memory=False the step after a reset resets once more")
        sys.exit(1)
    print(f"not reproduced: {with_memory}, {without}")
# observed: CONFIRMED: with shared_memory=False the step after a reset resets once more
