"""Making a pool one of whose envs never comes to be must not wait for ever."""

import os
import signal
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box

PATIENCE_S = 10
MADE_HERE = os.getpid()


class Hangs(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def __init__(self) -> None:
        if os.getpid() != MADE_HERE:  # the pool makes one in its own process, too
            time.sleep(2 * PATIENCE_S)


def overdue(*_: object) -> None:
    print(f"CONFIRMED: the constructor still blocks after {PATIENCE_S} s; it takes no timeout")
    os._exit(1)  # its worker is a daemon, and ends with its sleep


signal.signal(signal.SIGALRM, overdue)
signal.alarm(PATIENCE_S)
gymnasium.vector.AsyncVectorEnv([Hangs], shared_memory=False, context="fork")
print("not reproduced")
# observed: CONFIRMED: the constructor still blocks after 10 s; it takes no timeout
