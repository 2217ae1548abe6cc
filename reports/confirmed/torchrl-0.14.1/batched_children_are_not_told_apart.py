"""Children with a batch size of their own must work in a pool, as they do in SerialEnv."""

import signal
import sys
from functools import partial

import torch
from torchrl.envs import AsyncEnvPool, SerialEnv
from torchrl.testing.mocking_classes import CountingBatchedEnv


def reset(how: str) -> str:
    pool = AsyncEnvPool(makers, backend=how)
    try:
        return f"env_index {pool.reset().get('env_index').tolist()}"
    except ValueError as error:
        return f"{error!r}"
    finally:
        pool.shutdown()


if __name__ == "__main__":
    signal.alarm(60)
    makers = [partial(CountingBatchedEnv, torch.tensor([3, 4, 5]), batch_size=(3,))] * 2
    print(f"SerialEnv: a reset returns {tuple(SerialEnv(2, makers).reset().shape)}")
    found = {how: reset(how) for how in ("threading", "multiprocessing")}
    confirmed = found["threading"] != "env_index [[0, 0, 0], [1, 1, 1]]"
    print(f"CONFIRMED: a reset of the pool: {found}" if confirmed else "not reproduced")
    sys.exit(confirmed)
# observed: CONFIRMED: a reset of the pool: {'threading': 'env_index [[0, 0, 0], [0, 0, 0]]', ...}
