"""Making a pool one of whose envs never comes to be must not wait for ever."""

import multiprocessing
import os
import signal
import time

import torch
from torchrl.envs import AsyncEnvPool, EnvBase, PendulumEnv

PATIENCE_S = 10


def make_none() -> EnvBase:
    time.sleep(1000)
    raise AssertionError


def overdue(*_: object) -> None:
    print(f"CONFIRMED: the constructor still blocks after {PATIENCE_S} s; it takes no timeout")
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(1)


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
signal.signal(signal.SIGALRM, overdue)
signal.alarm(PATIENCE_S)
AsyncEnvPool([PendulumEnv, make_none], backend="multiprocessing", exchange="queue")
print("not reproduced")
# observed: CONFIRMED: the constructor still blocks after 10 s; it takes no timeout
