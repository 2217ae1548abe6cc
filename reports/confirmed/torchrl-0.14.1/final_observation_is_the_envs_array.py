"""The last observation of an episode must not be overwritten by the reset of an env that reuses its array."""

import multiprocessing
import sys

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from torchrl.envs import AsyncEnvPool, GymWrapper, SerialEnv


class Reuses(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)
    shown = np.zeros(1, np.float32)

    def reset(self, **_: object) -> tuple[np.ndarray, dict]:
        self.shown[:] = 0
        return self.shown, {}

    def step(self, _: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.shown[:] = 7
        return self.shown, 0.0, True, False, {}


def last(envs: object) -> float:
    done, _ = envs.step_and_maybe_reset(envs.reset().set("action", torch.zeros(2, 1)))
    envs.close()
    return float(done["next", "observation"][0])


multiprocessing.set_start_method("fork", force=True)
hows = ("threading", "multiprocessing")
envs = [lambda: GymWrapper(Reuses())] * 2
pools = {how: last(AsyncEnvPool(envs, backend=how)) for how in hows}
confirmed = set(pools.values()) != {7.0}
text = f"{pools} say it is 0, SerialEnv says {last(SerialEnv(2, envs))}"
print(f"CONFIRMED: {text}" if confirmed else "not reproduced")
sys.exit(confirmed)
# observed: CONFIRMED: {'threading': 0.0, 'multiprocessing': 0.0} say it is 0, SerialEnv says 7.0
