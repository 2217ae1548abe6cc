"""The entry in which a pool numbers its envs must not be handed to them: a `SerialEnv` hands none."""

import signal
import sys

from tensordict import TensorDictBase
from torchrl.envs import AsyncEnvPool, GymEnv

seen: set[str] = set()


class Watching(GymEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        seen.update(tensordict.keys())
        return super()._step(tensordict)


signal.alarm(60)
pool = AsyncEnvPool([lambda: Watching("CartPole-v1")] * 2, backend="threading", stack="dense")
pool.step(pool.rand_action(pool.reset()))
pool.close()
confirmed = "env_index" in seen
print(f"CONFIRMED: the envs were given {sorted(seen)}" if confirmed else "not reproduced")
sys.exit(confirmed)
# observed: CONFIRMED: the envs were given ['action', 'done', 'env_index', 'observation', 'terminated', 'truncated']
