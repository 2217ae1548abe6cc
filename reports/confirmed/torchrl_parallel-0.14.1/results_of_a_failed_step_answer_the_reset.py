"""After a step of which one result could not be rebuilt, reset must not hand out the others' old results."""

import sys

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


if __name__ == "__main__":
    torch.set_num_threads(1)
    envs = ParallelEnv(2, Env, use_buffers=False, mp_start_method="fork")
    td = envs.reset()
    td["action"] = torch.tensor([[0], [1]], dtype=td["observation"].dtype)
    try:
        envs.step(td)
    except ValueError as error:
        print(f"step raised {error!r}")
    counts = envs.reset()["observation"].flatten().tolist()
    if counts[1] != 0:
        print(f"CONFIRMED: after a reset the envs' counters are {counts}")
        sys.exit(1)
    print("not reproduced")
# observed: CONFIRMED: after a reset the envs' counters are [0, 1]
