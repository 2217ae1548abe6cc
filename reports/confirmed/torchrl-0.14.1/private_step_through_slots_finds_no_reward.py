"""`_step` of a pool with shared slots, which a transform around it calls, must return the reward."""

import signal
import sys

from torchrl.envs import AsyncEnvPool, EnvBase, GymEnv


def make() -> EnvBase:
    return GymEnv("CartPole-v1")


if __name__ == "__main__":
    signal.alarm(60)
    pool = AsyncEnvPool([make, make], backend="multiprocessing", exchange="shm", stack="dense")
    try:
        pool._step(pool.rand_action(pool.reset()))  # noqa: SLF001 - what transforms call
        text = ""
    except KeyError as error:
        text = f"CONFIRMED: KeyError: {error}"
    pool.close(raise_if_closed=False)
    print(text or "not reproduced")
    sys.exit(bool(text))
# observed: CONFIRMED: KeyError: 'key "reward" not found in TensorDict with keys ...'
