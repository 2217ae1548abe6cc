"""An update of a worker that does not exist has to be refused before it has any effect."""

import multiprocessing

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import SharedMemWeightSyncScheme


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        tensordict.set("version", self.weight.detach()[0].clone())
        return tensordict.set("action", torch.zeros(1))


multiprocessing.set_start_method("fork", force=True)
policy = Policy(1, 1, bias=False).requires_grad_(requires_grad=False)
policy.weight.fill_(1.0)
options = {"weight_sync_schemes": {"policy": SharedMemWeightSyncScheme()}, "frames_per_batch": 1}
collector = MultiSyncCollector([PendulumEnv], policy, total_frames=-1, **options)
batches = iter(collector)
next(batches)
try:
    collector.update_policy_weights_(TensorDict(weight=torch.full((1, 1), 9.0)), worker_ids=[99])
    said = "it returned"
except (KeyError, ValueError) as error:
    said = f"{type(error).__name__}: {error}"
found = next(batches)["version"].item()
verdict = "CONFIRMED" if found == 9.0 else "not reproduced"
print(f"{verdict}: worker 99: {said}; the only worker acts on {found}")
collector.shutdown()
# observed: CONFIRMED: worker 99: ValueError: Worker 99 not registered; the only worker acts on 9.0
