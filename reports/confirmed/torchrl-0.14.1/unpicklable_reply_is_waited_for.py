"""A step whose env says something that cannot be pickled must raise, not wait for ever."""

import os
import signal

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv

PATIENCE_S = 15


class Says(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).set("info", NonTensorData(i for i in range(3)))


def overdue(*_: object) -> None:
    print(f"CONFIRMED: step still waits after {PATIENCE_S} s", flush=True)
    for process in pool.threads:
        process.kill()
    os._exit(1)


if __name__ == "__main__":
    pool = AsyncEnvPool([Says] * 2, backend="multiprocessing")
    root = pool.reset()
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(PATIENCE_S)
    pool.step(root.set("action", torch.zeros(2, 1)))
    print("not reproduced: it returned, or raised")
    pool.shutdown()
# observed: CONFIRMED: step still waits after 15 s
