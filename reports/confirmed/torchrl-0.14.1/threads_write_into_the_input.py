"""A pool of threads must leave the caller's data alone, as a pool of processes does."""

import signal
import sys

from torchrl.envs import AsyncEnvPool, GymEnv

signal.alarm(60)
pool = AsyncEnvPool([lambda: GymEnv("CartPole-v1")] * 2, backend="threading", stack="lazy")
given = pool.rand_action(pool.reset())
pool.step(given)
confirmed = given.get("next", None) is not None
pool.close()
print("CONFIRMED: step wrote 'next' into what it was given" if confirmed else "not reproduced")
sys.exit(confirmed)
# observed: CONFIRMED: step wrote 'next' into what it was given
