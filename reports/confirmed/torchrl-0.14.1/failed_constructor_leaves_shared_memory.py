"""A pool whose env fails while it is made must leave no names in shared memory behind."""

import multiprocessing
import os

import torch
from torchrl.envs import AsyncEnvPool, EnvBase, PendulumEnv

TRIES = 200


def fails() -> EnvBase:
    raise ValueError("no such level")


def names() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith("torch_")}


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
before, left, tries = names(), 0, 0
while not left and tries < TRIES:
    tries += 1
    try:
        AsyncEnvPool([PendulumEnv, fails, PendulumEnv], backend="multiprocessing", exchange="queue")
    except RuntimeError:
        left = len(names() - before)
if left:
    print(f"CONFIRMED: {left} left by {tries} pools: workers are terminated as they share tensors")
    for name in names() - before:
        os.unlink(f"/dev/shm/{name}")
else:
    print(f"not reproduced in {TRIES} tries")
# observed: CONFIRMED: 1 left by 74 pools: workers are terminated as they share tensors
