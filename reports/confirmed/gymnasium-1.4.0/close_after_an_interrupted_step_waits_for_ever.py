"""After a KeyboardInterrupt out of a step, which the trainer catches, `close` has to end."""

import os
import signal
import time

import gymnasium


class Slow(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def reset(self, **_: object) -> tuple[int, dict[str, object]]:
        return 0, {}

    def step(self, _: object) -> tuple[int, float, bool, bool, dict[str, object]]:
        time.sleep(self.seconds)
        return 0, 0.0, False, False, {}


def overdue(*_: object) -> None:
    print("CONFIRMED: close() still runs 20 s after every env has answered", flush=True)
    os._exit(1)


envs = gymnasium.vector.AsyncVectorEnv([lambda: Slow(0.0), lambda: Slow(3.0)], context="fork")
envs.reset()
signal.signal(signal.SIGALRM, signal.default_int_handler)  # as if Ctrl-C came after 1 s
signal.alarm(1)
try:
    envs.step([0, 0])
except KeyboardInterrupt:
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(23)
    envs.close()
    print("not reproduced")
# observed: CONFIRMED: close() still runs 20 s after every env has answered
