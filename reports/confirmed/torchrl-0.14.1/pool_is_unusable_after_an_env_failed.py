"""After a step that one env made fail, a reset must work, or say that the pool is closed."""

import signal
import sys

import torch
from tensordict import TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv


class FailingOnce(PendulumEnv):
    failed = False

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if not self.failed:
            self.failed = True
            raise ValueError("once")
        return super()._step(tensordict)


signal.alarm(60)
pool = AsyncEnvPool([PendulumEnv, FailingOnce], backend="threading")
root = pool.reset()
message = ""
try:
    pool.step(root.set("action", torch.zeros(2, 1)))
except ValueError:
    try:
        pool.reset()
    except RuntimeError as error:
        message = str(error)
confirmed = "still processing" in message
print(f"CONFIRMED: the reset raised {message!r}" if confirmed else "not reproduced")
sys.exit(confirmed)
# observed: CONFIRMED: the reset raised 'Some envs are still processing a step.'
