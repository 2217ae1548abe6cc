"""After a step of which one result could not be rebuilt, reset must not hand out the others' old results."""

import sys

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import ParallelEnv
from torchrl.testing.mocking_classes import CountingEnv


def refuse() -> None:
    raise ValueError("cannot be rebuilt")


class Broken:
    def __reduce__(self) -> tuple:
        return refuse, ()


class Env(CountingEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        return (
            stepped if tensordict["action"].any() else stepped.set("tag", NonTensorData(Broken()))
        )


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
