"""`shutdown()` of a pool of threads has to end also when an env hangs in a step."""

import os
import signal
import time

import torch
from tensordict import TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv

PATIENCE_S = 10


class Hangs(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        time.sleep(1000)
        raise AssertionError


def overdue(*_: object) -> None:
    print(f"CONFIRMED: shutdown() still blocks after {PATIENCE_S} s; it has no bound for threads")
    os._exit(1)


torch.set_num_threads(1)
pool = AsyncEnvPool([Hangs, Hangs], backend="threading")
pool.async_step_send(pool.rand_action(pool.reset()))
signal.signal(signal.SIGALRM, overdue)
signal.alarm(PATIENCE_S)
pool.shutdown()
print("not reproduced")
# observed: CONFIRMED: shutdown() still blocks after 10 s; it has no bound for threads
