"""After a KeyboardInterrupt out of a step, the next one must not return what the first asked for."""

import signal
import sys
import time

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import SubprocVecEnv


class Echo(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-99, 99, (1,))
    action_space = gymnasium.spaces.Box(-99, 99, (1,))

    def reset(self, **_: object) -> tuple[np.ndarray, dict[str, object]]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
        if action[0] == 1:
            time.sleep(2)
        return np.array(action, np.float32), 0.0, False, False, {}


envs = SubprocVecEnv([Echo] * 2, start_method="fork")
envs.reset()
signal.signal(signal.SIGALRM, signal.default_int_handler)  # as if Ctrl-C came after 1 s
signal.alarm(1)
seen = []
for action in (1, 7, 8):
    try:
        seen.append(float(envs.step(np.full((2, 1), action))[0][1, 0]))
    except (KeyboardInterrupt, ValueError) as error:
        print(f"step with action {action} raised {error!r}")
envs.close()
print(f"CONFIRMED: actions 7, 8 were answered by {seen}" if seen != [7, 8] else "not reproduced")
sys.exit(seen != [7, 8])
# observed: CONFIRMED: actions 7, 8 were answered by [1.0, 7.0]
