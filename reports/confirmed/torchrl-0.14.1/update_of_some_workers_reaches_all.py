"""An update that names some of the workers must leave the others as they are."""

import multiprocessing

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        tensordict.set("version", self.weight.detach()[0].clone())
        return tensordict.set("action", torch.zeros(1))


def acted_on(scheme: type) -> list[float]:
    policy = Policy(1, 1, bias=False).requires_grad_(requires_grad=False)
    policy.weight.fill_(1.0)
    options = {"frames_per_batch": 2, "total_frames": -1, "cat_results": "stack"}
    made = MultiSyncCollector(
        [PendulumEnv] * 2, policy, weight_sync_schemes={"policy": scheme()}, **options
    )
    batches = iter(made)
    next(batches)
    made.update_policy_weights_(TensorDict(weight=torch.full((1, 1), 2.0)), worker_ids=[0])
    found = next(batches)["version"].flatten().tolist()
    made.shutdown()
    return found


multiprocessing.set_start_method("fork", force=True)
for scheme in (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme):
    found = acted_on(scheme)
    verdict = "CONFIRMED" if found != [2.0, 1.0] else "not reproduced"
    print(f"{verdict}: {scheme.__name__}: worker 0 alone was sent 2, workers act on {found}")
# observed: CONFIRMED: MultiProcessWeightSyncScheme: worker 0 alone was sent 2, workers act on [2.0, 2.0]
