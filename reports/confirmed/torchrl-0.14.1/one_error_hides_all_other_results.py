"""When one env fails, its error must be raised once, and the results of the others be received."""

import signal
import sys

import torch
from tensordict import NonTensorStack, TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv


class Failing(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        raise ValueError("always")


signal.alarm(60)
pool = AsyncEnvPool([PendulumEnv, Failing, PendulumEnv], backend="threading")
root = pool.reset().set("action", torch.zeros(3, 1))
root.set("env_index", NonTensorStack(0, 1, 2))
pool.async_step_send(root)
outcomes = []
for min_get in (3, 2, 1):
    try:
        outcomes.append(f"{len(pool.async_step_recv(min_get, timeout=2.0))} results")
    except (ValueError, RuntimeError) as error:
        outcomes.append(repr(error))
confirmed = outcomes[1].startswith("ValueError") and outcomes[2].startswith("ValueError")
text = f"of two healthy envs nothing is received: {outcomes[0]}, again and again"
print(f"CONFIRMED: {text}" if confirmed else "not reproduced")
sys.exit(confirmed)
# observed: CONFIRMED: of two healthy envs nothing is received: ValueError('always'), again and again
