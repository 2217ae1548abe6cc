"""A scheme for a model other than the policy has to reach forked workers as it reaches spawned ones."""

import multiprocessing
import os
import signal

import torch
from tensordict import TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs import PendulumEnv
from torchrl.weight_update import SharedMemWeightSyncScheme as Scheme


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


class Post(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict


multiprocessing.set_start_method("fork", force=True)
policy = Policy(1, 1, bias=False).requires_grad_(requires_grad=False)
post = torch.nn.Sequential(Post(1, 1, bias=False).requires_grad_(requires_grad=False))
options = {"weight_sync_schemes": {"policy": Scheme(), "postproc[0]": Scheme()}, "postproc": post}
options |= {"replay_buffer": ReplayBuffer(storage=LazyTensorStorage(100)), "extend_buffer": True}
try:
    MultiSyncCollector([PendulumEnv], policy, frames_per_batch=1, total_frames=-1, **options)
    print("not reproduced")
except RuntimeError as error:
    print(f"CONFIRMED: {str(error).splitlines()[0]}")
for process in multiprocessing.active_children():
    process.kill()
os.kill(os.getpid(), signal.SIGKILL)  # to leave otherwise would wait
# observed: CONFIRMED: Weight sync scheme cannot be initialized on both sender and receiver.
