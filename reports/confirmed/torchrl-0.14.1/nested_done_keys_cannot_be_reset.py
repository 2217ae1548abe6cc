"""A pool of envs whose only done keys are nested must reset, as SerialEnv does."""

import signal
import sys

from torchrl.envs import AsyncEnvPool, SerialEnv
from torchrl.testing.mocking_classes import NestedCountingEnv


def reset(how: str) -> str:
    pool = AsyncEnvPool(makers, backend=how)
    try:
        return f"returned {tuple(pool.reset().shape)}"
    except (AttributeError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
    finally:
        pool.shutdown()


if __name__ == "__main__":
    signal.alarm(60)
    makers = [NestedCountingEnv] * 2
    print(f"SerialEnv: {SerialEnv(2, makers).reset_keys}")
    found = {how: reset(how) for how in ("threading", "multiprocessing")}
    confirmed = not all(text.startswith("returned") for text in found.values())
    print(f"CONFIRMED: a reset of the pool: {found}" if confirmed else "not reproduced")
    sys.exit(confirmed)
# observed: CONFIRMED: a reset of the pool: {'threading': "AttributeError: 'NoneType' object has no attribute ...
