"""What the root holds beside the specs must be in the next root, as it is in a `SerialEnv`."""

import signal
import sys

import torch
from torchrl.envs import EnvBase, GymEnv, ParallelEnv, SerialEnv


def make() -> EnvBase:
    return GymEnv("CartPole-v1")


def is_carried(pool: EnvBase) -> bool:
    root = pool.rand_action(pool.reset()).set("visits", torch.zeros(2, 1))
    _, root = pool.step_and_maybe_reset(root)
    pool.close()
    return root.get("visits", None) is not None


if __name__ == "__main__":
    signal.alarm(120)
    serial = is_carried(SerialEnv(2, make, use_buffers=True))
    parallel = is_carried(ParallelEnv(2, make, use_buffers=True))
    confirmed = serial and not parallel
    print(f"the next root holds the extra entry: serial {serial}, parallel {parallel}")
    print("CONFIRMED" if confirmed else "not reproduced")
    sys.exit(confirmed)
# observed: CONFIRMED, the next root holds the extra entry: serial True, parallel False
