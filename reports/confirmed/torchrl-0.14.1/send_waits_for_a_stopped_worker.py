"""A send whose worker does not answer has to end: the ack is waited for without a deadline."""

import multiprocessing
import os
import signal
import sys

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme

PATIENCE_S = 20
SCHEMES = {"copy": MultiProcessWeightSyncScheme, "shared": SharedMemWeightSyncScheme}


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


def overdue(*_: object) -> None:
    print(
        f"CONFIRMED: update_policy_weights_ still blocks after {PATIENCE_S} s, its worker stopped"
    )
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(1)


scheme = SCHEMES[sys.argv[1] if len(sys.argv) > 1 else "shared"]
multiprocessing.set_start_method("fork", force=True)
signal.signal(signal.SIGALRM, overdue)
options = {"weight_sync_schemes": {"policy": scheme()}, "frames_per_batch": 1}
collector = MultiSyncCollector([PendulumEnv], Policy(1, 1, bias=False), total_frames=-1, **options)
next(iter(collector))
os.kill(collector.procs[0].pid, signal.SIGSTOP)
signal.alarm(PATIENCE_S)
collector.update_policy_weights_(TensorDict(weight=torch.ones(1, 1)))
print("not reproduced")
# observed: CONFIRMED: update_policy_weights_ still blocks after 20 s, its worker stopped
