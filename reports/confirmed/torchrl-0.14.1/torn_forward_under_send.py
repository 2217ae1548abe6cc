"""A forward that is half-way while weights are sent must not see some of each version."""

import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import PendulumEnv
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme


class Policy(torch.nn.Embedding):
    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        tensordict.set("first", self.weight[0].clone())
        if HOLDS.is_set():
            HALF_WAY.set()
            SENT.wait(5)
        return tensordict.set("action", self.weight[-1].clone())


signal.alarm(60)
multiprocessing.set_start_method("fork", force=True)
torn = ""
for scheme in (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme):
    HOLDS, HALF_WAY, SENT = (multiprocessing.Event() for _ in range(3))
    policy = Policy.from_pretrained(torch.ones(1000, 1))
    options = {"frames_per_batch": 1, "weight_sync_schemes": {"policy": scheme()}}
    collector = MultiSyncCollector([PendulumEnv], policy, total_frames=-1, **options)
    HOLDS.set()
    batch = ThreadPoolExecutor().submit(next, iter(collector))
    HALF_WAY.wait(20)
    collector.update_policy_weights_(TensorDict(weight=torch.full((1000, 1), 2.0)))
    SENT.set()
    torn += f" {scheme.__name__}" * (batch.result()["first"] != batch.result()["action"]).item()
    collector.shutdown()
print(f"CONFIRMED: one forward read versions 1 and 2:{torn}" if torn else "not reproduced")
raise SystemExit(bool(torn))
# observed: CONFIRMED: one forward read versions 1 and 2: MultiProcessWeightSyncScheme SharedMemWeightSyncScheme
