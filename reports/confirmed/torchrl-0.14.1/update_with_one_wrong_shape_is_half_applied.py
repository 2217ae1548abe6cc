"""An update of which one tensor has a wrong shape has to be refused whole, not only reported."""

import multiprocessing
import sys

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import SharedMemWeightSyncScheme


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        tensordict.set("read", torch.stack([self.weight[0, 0], self.bias[0]]))
        return tensordict.set("action", self.weight[0].clone())


multiprocessing.set_start_method("fork", force=True)
policy = Policy(1, 1)
torch.nn.init.ones_(policy.weight), torch.nn.init.ones_(policy.bias)
options = {"weight_sync_schemes": {"policy": SharedMemWeightSyncScheme()}, "frames_per_batch": 1}
collector = MultiSyncCollector([PendulumEnv], policy, total_frames=-1, **options)
batches = iter(collector)
next(batches)
said = "nothing"
try:
    collector.update_policy_weights_(
        TensorDict(weight=torch.full((1, 1), 2.0), bias=torch.full((3,), 2.0))
    )
except RuntimeError as error:
    said = type(error).__name__
weight, bias = next(batches)["read"].reshape(-1, 2)[-1].tolist()
collector.shutdown()
torn = (weight, bias) == (2.0, 1.0)
read = f"the update raised {said}, and the worker reads {weight} and {bias}"
print(f"CONFIRMED: {read}" if torn else f"not reproduced: {read}")
sys.exit(1 if torn else 0)
# observed: CONFIRMED: the update raised RuntimeError, and the worker reads 2.0 and 1.0
