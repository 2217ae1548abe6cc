"""A step for which there are no descriptors to spare must raise, not wait for ever."""

import os
import resource
import signal

import torch
from torchrl.envs import AsyncEnvPool, PendulumEnv

PATIENCE_S = 20


def main() -> None:
    pool = AsyncEnvPool([PendulumEnv] * 2, backend="multiprocessing", exchange="queue")
    root = pool.reset().set("action", torch.zeros(2, 1))
    in_use = max(map(int, os.listdir("/proc/self/fd")))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 1, hard))
    for _ in range(12):
        _, root = pool.step_and_maybe_reset(root.set("action", torch.zeros(2, 1)))


def give_up(*_: object) -> None:
    print(f"CONFIRMED: a step without descriptors to spare waits for more than {PATIENCE_S} s")
    os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    os.setpgrp()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    main()
    print("not reproduced")
# observed: CONFIRMED: a step without descriptors to spare waits for more than 20 s
