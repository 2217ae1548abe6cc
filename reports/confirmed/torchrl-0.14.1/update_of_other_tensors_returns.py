"""An update that is not one of this model, with a tensor too many or of complex numbers, has to be refused."""

import multiprocessing

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme

ONE = torch.ones(1, 1)
WRONG = {
    "a tensor too many": TensorDict(weight=ONE, surplus=ONE),
    "complex numbers": TensorDict(weight=ONE.to(torch.complex64)),
}


class Policy(torch.nn.Linear):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        return tensordict.set("action", self.weight[0].clone())


multiprocessing.set_start_method("fork", force=True)
for scheme in (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme):
    policy = Policy(1, 1, bias=False).requires_grad_(requires_grad=False)
    options = {"weight_sync_schemes": {"policy": scheme()}, "frames_per_batch": 1}
    made = MultiSyncCollector([PendulumEnv], policy, total_frames=-1, **options)
    next(iter(made))
    for what, weights in WRONG.items():
        try:
            made.update_policy_weights_(weights)
            print(f"CONFIRMED: {scheme.__name__}: an update with {what} returned")
        except (KeyError, RuntimeError, ValueError) as error:
            print(f"not reproduced: {scheme.__name__}, {what}: {type(error).__name__}")
    made.shutdown()
# observed: CONFIRMED: SharedMemWeightSyncScheme: an update with a tensor too many returned
