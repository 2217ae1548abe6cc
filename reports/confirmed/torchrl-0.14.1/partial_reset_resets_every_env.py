"""A reset with `_reset` must leave the envs alone that the mask leaves out."""

import signal
import sys

import torch
from tensordict import TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv, SerialEnv


class CountedPendulum(PendulumEnv):
    resets = 0

    def _reset(self, tensordict: TensorDictBase, **options: object) -> TensorDictBase:
        self.resets += 1
        return super()._reset(tensordict, **options)


def resets_of_the_unmasked_env(pool_class: type) -> int:
    envs = [CountedPendulum(), CountedPendulum()]
    if pool_class is SerialEnv:
        pool = SerialEnv(2, [lambda: envs[0], lambda: envs[1]])
    else:
        pool = AsyncEnvPool(envs, backend="threading")
    root = pool.reset()
    before = envs[1].resets
    pool.reset(root.set("_reset", torch.tensor([[True], [False]])))
    pool.close()
    return envs[1].resets - before


signal.alarm(60)
serial, pooled = resets_of_the_unmasked_env(SerialEnv), resets_of_the_unmasked_env(AsyncEnvPool)
confirmed = pooled > serial
text = f"the env that the mask leaves out was reset {pooled} times, {serial} in a SerialEnv"
print(f"CONFIRMED: {text}" if confirmed else "not reproduced")
sys.exit(confirmed)
# observed: CONFIRMED: the env that the mask leaves out was reset 1 times, 0 in a SerialEnv
