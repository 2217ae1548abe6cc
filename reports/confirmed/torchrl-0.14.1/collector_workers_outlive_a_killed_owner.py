"""Workers of a collector have to end soon after an owner that was killed."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import torch
from tensordict import TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv

PATIENCE_S = 15


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


multiprocessing.set_start_method("fork", force=True)
reading, writing = os.pipe()
owner = os.fork()
if owner == 0:
    policy = Policy(1, 1, bias=False).requires_grad_(requires_grad=False)
    made = MultiSyncCollector([PendulumEnv], policy, frames_per_batch=1, total_frames=-1)
    next(iter(made))
    os.write(writing, str(made.procs[0].pid).encode())
    os.kill(os.getpid(), signal.SIGKILL)
worker = int(os.read(reading, 20))
os.waitpid(owner, 0)
time.sleep(PATIENCE_S)
there = Path(f"/proc/{worker}").exists()
print(f"{'CONFIRMED' if there else 'not reproduced'}: {PATIENCE_S} s later: worker there: {there}")
if there:
    os.kill(worker, signal.SIGKILL)
# observed: CONFIRMED: 15 s later: worker there: True
