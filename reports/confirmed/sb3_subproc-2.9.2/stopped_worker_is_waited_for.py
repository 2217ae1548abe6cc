"""Closing must end a worker process that is stopped, not wait for it for ever."""

import os
import signal
from functools import partial

import gymnasium
from stable_baselines3.common.vec_env import SubprocVecEnv

PATIENCE_S = 10


def overdue(*_: object) -> None:
    print(f"CONFIRMED: close still waits for a stopped worker after {PATIENCE_S} s")
    envs.processes[0].kill()
    os._exit(1)


if __name__ == "__main__":
    envs = SubprocVecEnv([partial(gymnasium.make, "CartPole-v1")])
    envs.reset()
    os.kill(envs.processes[0].pid, signal.SIGSTOP)
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(PATIENCE_S)
    envs.close()
    print("not reproduced")
# observed: CONFIRMED: close still waits for a stopped worker after 10 s
