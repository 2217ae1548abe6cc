"""An update that names one of two tensors wrongly has to be refused whole, and reported."""

import multiprocessing

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        tensordict.set("read", torch.stack([self.weight[0, 0], self.bias[0]]))
        return tensordict.set("action", self.weight[0].clone())


def versions_read(scheme: type) -> list[float]:
    policy = Policy(1, 1)
    torch.nn.init.ones_(policy.weight), torch.nn.init.ones_(policy.bias)
    options = {"weight_sync_schemes": {"policy": scheme()}, "frames_per_batch": 1}
    collector = MultiSyncCollector([PendulumEnv], policy, total_frames=-1, **options)
    batches = iter(collector)
    next(batches)
    update = TensorDict(weight=torch.full((1, 1), 2.0), bios=torch.full((1,), 2.0))
    collector.update_policy_weights_(update)
    found = next(batches)["read"].reshape(-1, 2)[-1].tolist()
    collector.shutdown()
    return found


multiprocessing.set_start_method("fork", force=True)
found = {
    s.__name__: versions_read(s) for s in (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme)
}
torn = [name for name, read in found.items() if read == [2.0, 1.0]]
print(f"CONFIRMED: half applied without a word: {', '.join(torn)}" if torn else "not reproduced")
raise SystemExit(bool(torn))
# observed: CONFIRMED: half applied without a word: MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme
