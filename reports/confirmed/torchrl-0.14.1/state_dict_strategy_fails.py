"""A scheme with strategy="state_dict" has to send the weights that it is given, or its policy's."""

import multiprocessing
import os
import signal

import torch
from tensordict import TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme as MultiProcess
from torchrl.weight_update import SharedMemWeightSyncScheme as SharedMem

PATIENCE_S = 15


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


multiprocessing.set_start_method("fork", force=True)
signal.signal(signal.SIGALRM, signal.default_int_handler)
for scheme in (SharedMem, MultiProcess):
    policy = Policy(1, 1, bias=False).requires_grad_(requires_grad=False)
    options = {"weight_sync_schemes": {"policy": scheme(strategy="state_dict")}}
    made = MultiSyncCollector([PendulumEnv], policy, frames_per_batch=1, total_frames=-1, **options)
    next(iter(made))
    signal.alarm(PATIENCE_S)
    try:
        made.update_policy_weights_(policy.state_dict())
        print(f"not reproduced: {scheme.__name__}")
    except (TypeError, KeyboardInterrupt) as error:
        print(f"CONFIRMED: {scheme.__name__}: {type(error).__name__}: {error}")
    signal.alarm(0)
for process in multiprocessing.active_children():
    process.kill()
os._exit(0)
# observed: CONFIRMED: SharedMemWeightSyncScheme: TypeError: OrderedDict.values() takes no arguments (2 given)
