"""The shared memory of a command that could not be sent must be given back when the pool is closed."""

import contextlib
import gc
import multiprocessing.connection
import os
import sys

import torch
from torchrl.envs import ParallelEnv, PendulumEnv


def descriptors() -> list[str]:
    links = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{name}"))
    return [link for link in links if "torch" in link]


def refuse(*_: object) -> None:
    raise OSError("this transfer fails")


torch.set_num_threads(1)
pool = ParallelEnv(2, PendulumEnv, use_buffers=False, mp_start_method="fork")
root = pool.rand_action(pool.reset())
send = multiprocessing.connection.Connection._send_bytes  # noqa: SLF001 - below the pickling
multiprocessing.connection.Connection._send_bytes = refuse  # noqa: SLF001
with contextlib.suppress(OSError):
    pool.step(root)
multiprocessing.connection.Connection._send_bytes = send  # noqa: SLF001
pool.close()
del pool, root
gc.collect()
left = len(descriptors())
print(f"CONFIRMED: {left} pieces of shared memory are open" if left else "not reproduced")
sys.exit(left > 0)
# observed: CONFIRMED: 1 pieces of shared memory are open
