"""A send that cannot learn whether its weights were applied must not return as if they had been."""

import multiprocessing

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


multiprocessing.set_start_method("fork", force=True)
for kind in (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme):
    policy, scheme = Policy(1, 1, bias=False).requires_grad_(requires_grad=False), kind()
    options = {"weight_sync_schemes": {"policy": scheme}, "frames_per_batch": 1}
    made = MultiSyncCollector([PendulumEnv], policy, total_frames=-1, **options)
    next(iter(made))
    for queue in scheme._ack_queues.values():  # noqa: SLF001 - what happens to them is the case
        queue.close()
    try:
        made.update_policy_weights_(TensorDict(weight=torch.ones(1, 1)))
        print(f"CONFIRMED: {kind.__name__}: the ack queues are closed, and the update returned")
    except (OSError, RuntimeError, ValueError) as error:
        print(f"not reproduced: {kind.__name__}: {type(error).__name__}")
    made.shutdown()
# observed: CONFIRMED: SharedMemWeightSyncScheme: the ack queues are closed, and the update returned
