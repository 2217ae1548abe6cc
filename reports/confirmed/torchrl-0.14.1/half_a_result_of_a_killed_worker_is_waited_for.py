"""A receive has to notice that a worker was killed while it wrote its result into the shared queue."""

import multiprocessing
import os
import signal
import sys
import time

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv


class Large(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        large = NonTensorData(bytes(1 << 20))  # more than a pipe holds
        return super()._step(tensordict).set("tag", large)


def overdue(*_: object) -> None:
    print("CONFIRMED: a receive with a timeout of 2 s still waits after 12 s", flush=True)
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(1)


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([Large, Large], backend="multiprocessing", exchange="queue", stack="lazy")
td = pool.reset()
td["action"] = torch.zeros(2, 1)
pool.async_step_send(td)
time.sleep(2.0)  # now both wait for the owner to read
for process in pool.threads:
    os.kill(process.pid, signal.SIGKILL)
signal.signal(signal.SIGALRM, overdue)
signal.alarm(12)
pool.async_step_recv(timeout=2.0)
sys.exit("not reproduced")
# observed: CONFIRMED: a receive with a timeout of 2 s still waits after 12 s
