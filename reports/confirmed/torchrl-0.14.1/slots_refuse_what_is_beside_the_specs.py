"""A pool with shared slots must take what a `SerialEnv` takes: a transform's entries, a mask, a reward."""

import signal
import sys

import torch
from tensordict import NonTensorStack
from torchrl.envs import AsyncEnvPool, EnvBase, GymEnv, SerialEnv, StepCounter, TransformedEnv


def make() -> EnvBase:
    return GymEnv("CartPole-v1")


def step_with(key: str, pool: EnvBase) -> list[str]:
    root = pool.reset()
    if key == "_reset":
        return sorted(pool.reset(root.set(key, torch.tensor([[True], [False]]))).keys())
    if key == "step_count":
        pool = TransformedEnv(pool, StepCounter())
        root = pool.reset()
    extras = {"reward": torch.zeros(2, 1), "note": NonTensorStack("a", "b")}
    root = pool.rand_action(root)
    return sorted(pool.step(root.set(key, extras[key]) if key in extras else root).keys())


def tried(key: str, pool: EnvBase) -> list[str] | str:
    pool._SHUTDOWN_TIMEOUT = 2.0  # noqa: SLF001 - its only knob, 60 s by default
    try:
        return step_with(key, pool)
    except KeyError as error:
        return f"KeyError: {error}"[:120]
    finally:
        pool.close(raise_if_closed=False)


if __name__ == "__main__":
    signal.alarm(300)
    wrong = 0
    for key in ("step_count", "_reset", "reward", "note"):
        pooled = tried(
            key,
            AsyncEnvPool([make, make], backend="multiprocessing", exchange="shm", stack="dense"),
        )
        serial = tried(key, SerialEnv(2, make))
        wrong += isinstance(pooled, str) or not set(serial) <= set(pooled)
        print(f"{key}: pool {pooled}; serial {serial}")
    print(f"CONFIRMED in {wrong} of 4 cases" if wrong else "not reproduced")
    sys.exit(bool(wrong))
# observed: CONFIRMED in 4 of 4 cases
