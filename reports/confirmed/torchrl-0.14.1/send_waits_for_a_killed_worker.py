"""A send whose worker is dead has to say so: the ack is waited for without a deadline, whoever is there."""

import multiprocessing
import os
import signal

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import SharedMemWeightSyncScheme

PATIENCE_S = 20


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


def overdue(*_: object) -> None:
    print(f"CONFIRMED: update_policy_weights_ still blocks after {PATIENCE_S} s, its worker dead")
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(1)


multiprocessing.set_start_method("fork", force=True)
signal.signal(signal.SIGALRM, overdue)
options = {"weight_sync_schemes": {"policy": SharedMemWeightSyncScheme()}, "frames_per_batch": 1}
collector = MultiSyncCollector([PendulumEnv], Policy(1, 1, bias=False), total_frames=-1, **options)
next(iter(collector))
os.kill(collector.procs[0].pid, signal.SIGKILL)
collector.procs[0].join()
signal.alarm(PATIENCE_S)
collector.update_policy_weights_(TensorDict(weight=torch.ones(1, 1)))
print("not reproduced")
# observed: CONFIRMED: update_policy_weights_ still blocks after 20 s, its worker dead
