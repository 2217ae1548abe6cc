"""After a step of which one result could not be rebuilt, reset must not hand out the others' old results."""

import multiprocessing
import os

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import ParallelEnv
from torchrl.testing.mocking_classes import CountingEnv


class Broken:
    def __reduce__(self) -> tuple:
        return int, ("cannot be rebuilt",)  # raises ValueError where it is read


class Env(CountingEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        tag = 0 if tensordict["action"].any() else Broken()
        return stepped.set("tag", NonTensorData(tag))


torch.set_num_threads(1)
envs = ParallelEnv(2, Env, use_buffers=False, mp_start_method="fork")
td = envs.reset()
td["action"] = torch.tensor([[0], [1]], dtype=td["observation"].dtype)
try:
    envs.step(td)
except ValueError as error:
    print(f"step raised {error!r}")
counts = envs.reset()["observation"].flatten().tolist()
confirmed = counts[1] != 0
text = f"CONFIRMED: after a reset the envs' counters are {counts}"
print(text if confirmed else "not reproduced", flush=True)
for process in multiprocessing.active_children():
    process.kill()
os._exit(confirmed)
# observed: CONFIRMED: after a reset the envs' counters are [0, 1]
