"""After a KeyboardInterrupt out of a step, which the trainer catches, a reset must work, or call the pool closed."""

import os
import signal
import sys
import time

import torch
from tensordict import TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv


class Slow(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        time.sleep(2)
        return super()._step(tensordict)


torch.set_num_threads(1)
pool = AsyncEnvPool([Slow, Slow], backend="threading")
root = pool.rand_action(pool.reset())
signal.signal(signal.SIGALRM, signal.default_int_handler)  # as if Ctrl-C came after 1 s
signal.alarm(1)
try:
    pool.step(root)
except KeyboardInterrupt:
    time.sleep(4)  # every env has come back
message = ""
try:
    pool.reset()
except RuntimeError as error:
    message = str(error)
print(f"CONFIRMED: the reset raised {message[:60]!r}" if message else "not reproduced")
sys.stdout.flush()
os._exit(bool(message))
# observed: CONFIRMED: the reset raised 'Some envs are still processing a step.'
