"""An update of a model other than the policy, which has a scheme of its own, has to return."""

import multiprocessing
import os
import signal

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs import PendulumEnv
from torchrl.weight_update import SharedMemWeightSyncScheme as Scheme


class Module(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


def overdue(*_: object) -> None:
    print("CONFIRMED: it still blocks after 20 s")
    for process in multiprocessing.active_children():
        process.kill()
    os._exit(1)


if __name__ == "__main__":  # workers are spawned, which is torchrl's default
    policy, other = (Module(1, 1, bias=False).requires_grad_(requires_grad=False) for _ in "ab")
    options = {"weight_sync_schemes": {"policy": Scheme(), "postproc[0]": Scheme()}}
    options |= {"postproc": torch.nn.Sequential(other), "extend_buffer": True, "total_frames": -1}
    buffer = ReplayBuffer(storage=LazyTensorStorage(100))
    made = MultiSyncCollector(
        [PendulumEnv], policy, replay_buffer=buffer, frames_per_batch=1, **options
    )
    next(iter(made))
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(20)
    made.update_policy_weights_(TensorDict(weight=torch.ones(1, 1)), model_id="postproc[0]")
    print("not reproduced")
# observed: CONFIRMED: it still blocks after 20 s
