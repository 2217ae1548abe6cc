"""What the trainer does to its parameters must not reach the workers before it is sent."""

import multiprocessing
import signal
import sys

import torch
from tensordict import TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme


class Policy(torch.nn.Embedding):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


def acts_on_what_was_not_sent(scheme: type) -> bool:
    policy = Policy.from_pretrained(torch.zeros(1, 1))
    options = {"frames_per_batch": 1, "weight_sync_schemes": {"policy": scheme()}}
    collector = MultiSyncCollector([PendulumEnv], policy, total_frames=-1, **options)
    batches = iter(collector)
    first = next(batches)["action"].item()
    policy.weight.fill_(1.0)
    second = next(batches)["action"].item()
    collector.shutdown()
    return (first, second) == (0.0, 1.0)


signal.alarm(60)
multiprocessing.set_start_method("fork", force=True)
schemes = (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme)
guilty = ", ".join(each.__name__ for each in schemes if acts_on_what_was_not_sent(each))
print(
    f"CONFIRMED: workers acted on parameters never sent: {guilty}" if guilty else "not reproduced"
)
sys.exit(bool(guilty))
# observed: CONFIRMED: workers acted on parameters never sent: MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme
