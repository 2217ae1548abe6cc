"""Descriptors of what was sent to a worker that is dead must be given back when the pool is closed."""

import gc
import multiprocessing
import os
import signal

import torch
from torchrl.envs import AsyncEnvPool, PendulumEnv


def shared() -> int:
    paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return sum("torch_" in os.readlink(path) for path in paths if os.path.islink(path))


def main() -> None:
    multiprocessing.set_start_method("fork", force=True)
    pool = AsyncEnvPool([PendulumEnv] * 2, backend="multiprocessing")
    root = pool.reset()
    os.kill(pool.threads[1].pid, signal.SIGKILL)
    pool.threads[1].join()
    try:
        pool.step(root.set("action", torch.zeros(2, 1)))
    except RuntimeError as error:
        print(f"the step raised {str(error)[:60]!r}")
    pool.shutdown()
    del pool, root
    gc.collect()
    left = shared()
    print(f"CONFIRMED: {left} descriptors are still open" if left else "not reproduced")
    raise SystemExit(bool(left))


if __name__ == "__main__":
    main()
# observed: CONFIRMED: 12 descriptors are still open
