"""A reset of some envs must leave its mask in the caller's data, as it does in a `SerialEnv` by value."""

import signal
import sys

import torch
from torchrl.envs import EnvBase, GymEnv, ParallelEnv, SerialEnv


def make() -> EnvBase:
    return GymEnv("CartPole-v1")


def is_left(pool: EnvBase) -> bool:
    root = pool.reset().set("_reset", torch.tensor([[True], [False]]))
    pool.reset(root)
    pool.close()
    return root.get("_reset", None) is not None


if __name__ == "__main__":
    signal.alarm(120)
    serial = is_left(SerialEnv(2, make, use_buffers=False))
    parallel = is_left(ParallelEnv(2, make, use_buffers=False))
    confirmed = serial and not parallel
    print(f"the mask is left: serial {serial}, parallel {parallel}")
    print("CONFIRMED" if confirmed else "not reproduced")
    sys.exit(confirmed)
# observed: CONFIRMED, the mask is left: serial True, parallel False
