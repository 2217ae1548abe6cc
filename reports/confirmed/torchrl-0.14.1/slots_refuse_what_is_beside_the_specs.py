"""A pool with shared slots must take what a `SerialEnv` takes: a transform's entry, a mask, a reward in the root."""

import multiprocessing
import sys

import torch
from torchrl.envs import AsyncEnvPool, EnvBase, PendulumEnv, SerialEnv, StepCounter, TransformedEnv


def transform(pool: EnvBase) -> None:
    env = TransformedEnv(pool, StepCounter())
    env.step(env.rand_action(env.reset()))


def mask(pool: EnvBase) -> None:
    pool.reset(pool.reset().set("_reset", torch.tensor([[True], [False]])))


def reward(pool: EnvBase) -> None:
    pool.step(pool.rand_action(pool.reset()).set("reward", torch.zeros(2, 1)))


refused = []
multiprocessing.set_start_method("fork", force=True)
AsyncEnvPool._SHUTDOWN_TIMEOUT = 2.0  # noqa: SLF001 - its only knob, 60 s by default
for call in (transform, mask, reward):
    serial = SerialEnv(2, PendulumEnv)
    call(serial)
    serial.close(raise_if_closed=False)
    pool = AsyncEnvPool([PendulumEnv] * 2, backend="multiprocessing", exchange="shm", stack="dense")
    try:
        call(pool)
    except KeyError as error:
        refused.append(call.__name__)
        print(f"{call.__name__}: KeyError: {error}"[:110])
    pool.shutdown()
print(f"CONFIRMED: refused: {', '.join(refused)}" if refused else "not reproduced")
sys.exit(bool(refused))
# observed: CONFIRMED: refused: transform, mask, reward
