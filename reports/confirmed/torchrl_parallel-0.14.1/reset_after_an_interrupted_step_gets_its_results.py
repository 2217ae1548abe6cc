"""After a KeyboardInterrupt out of a step, which the trainer catches, a reset must reset."""

import multiprocessing
import os
import signal
import sys
import time

import torch
from tensordict import TensorDictBase
from torchrl.envs import ParallelEnv
from torchrl.testing.mocking_classes import CountingEnv


class Slow(CountingEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        time.sleep(2)
        return super()._step(tensordict)


torch.set_num_threads(1)
envs = ParallelEnv(2, Slow, use_buffers=False, mp_start_method="fork")
td = envs.reset()
td["action"] = torch.ones(2, 1, dtype=td["observation"].dtype)
signal.signal(signal.SIGALRM, signal.default_int_handler)  # as if Ctrl-C came after 1 s
signal.alarm(1)
try:
    envs.step(td)
except KeyboardInterrupt:
    print("the step was interrupted")
counts = envs.reset()["observation"].flatten().tolist()
confirmed = counts != [0, 0]
print(f"CONFIRMED: after a reset the counters are {counts}" if confirmed else "not reproduced")
sys.stdout.flush()
for process in multiprocessing.active_children():
    process.kill()
os._exit(confirmed)
# observed: CONFIRMED: after a reset the counters are [1, 1]
