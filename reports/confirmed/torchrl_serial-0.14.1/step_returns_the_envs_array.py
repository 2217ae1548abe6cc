"""What a step returned must not change with the next one: a `SerialEnv` without buffers, of an env that reuses its array."""

import sys

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from torchrl.envs import GymWrapper, SerialEnv


class Reuses(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def __init__(self) -> None:
        self.shown = np.zeros(1, np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        self.shown[:] = 0
        return self.shown, {}

    def step(self, _: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.shown += 1
        return self.shown, 0.0, False, False, {}


envs = SerialEnv(2, [lambda: GymWrapper(Reuses()), lambda: GymWrapper(Reuses())], use_buffers=False)
action = torch.zeros(2, 1)
done, root = envs.step_and_maybe_reset(envs.reset().set("action", action))
before = done["next", "observation"].flatten().tolist()
envs.step_and_maybe_reset(root.set("action", action))
after = done["next", "observation"].flatten().tolist()
text = f"CONFIRMED: a step returned {before}, and it is {after} now"
print(text if before != after else "not reproduced")
sys.exit(before != after)
# observed: CONFIRMED: a step returned 1.0, and it is 2.0 now
