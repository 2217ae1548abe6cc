"""An update that no worker can apply has to be reported by the call that sent it."""

import multiprocessing
import os
import signal

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme

PATIENCE_S = 20


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


def overdue(*_: object) -> None:
    print(f"CONFIRMED: update_policy_weights_ with a wrong shape still blocks after {PATIENCE_S} s")
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(1)


multiprocessing.set_start_method("fork", force=True)
signal.signal(signal.SIGALRM, overdue)
options = {"weight_sync_schemes": {"policy": MultiProcessWeightSyncScheme()}, "frames_per_batch": 1}
collector = MultiSyncCollector([PendulumEnv], Policy(1, 1, bias=False), total_frames=-1, **options)
next(iter(collector))
signal.alarm(PATIENCE_S)
try:
    collector.update_policy_weights_(TensorDict(weight=torch.ones(1, 2)))
except (KeyError, RuntimeError, TimeoutError, ValueError) as error:
    print(f"not reproduced: {type(error).__name__}")
collector.shutdown()
# observed: CONFIRMED: update_policy_weights_ with a wrong shape still blocks after 20 s
