"""A step whose result a worker cannot send has to raise: its queue only prints the error."""

import multiprocessing
import os
import signal
import sys

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv

PATIENCE_S = 10


class Unpicklable(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        stepped.set("tag", NonTensorData(lambda: None))  # no local function can be pickled
        return stepped


def overdue(*_: object) -> None:
    print(f"CONFIRMED: after {PATIENCE_S} s step() still waits for a result that was never sent")
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(1)


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([Unpicklable, Unpicklable], backend="multiprocessing", exchange="queue")
td = pool.reset()
td["action"] = torch.zeros(2, 1)
signal.signal(signal.SIGALRM, overdue)
signal.alarm(PATIENCE_S)
pool.step(td)
print("not reproduced")
sys.exit(0)
# observed: CONFIRMED: after 10 s step() still waits for a result that was never sent
