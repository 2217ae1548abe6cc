"""What the root holds beside the specs and is no tensor must come back from a step, as it does from a `SerialEnv`."""

import multiprocessing
import signal
import sys

from tensordict import NonTensorStack
from torchrl.envs import AsyncEnvPool, EnvBase, PendulumEnv, SerialEnv


def comes_back(pool: EnvBase) -> bool:
    root = pool.rand_action(pool.reset()).set("note", NonTensorStack("a", "b"))
    _, following = pool.step_and_maybe_reset(root)
    pool.close()
    return "note" in following


signal.alarm(60)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([PendulumEnv] * 2, backend="multiprocessing", exchange="shm", stack="dense")
pooled, serial = comes_back(pool), comes_back(SerialEnv(2, PendulumEnv))
confirmed = serial and not pooled
print(
    f"CONFIRMED, the note comes back: serial {serial}, pool {pooled}"
    if confirmed
    else "not reproduced"
)
sys.exit(confirmed)
# observed: CONFIRMED, the note comes back: serial True, pool False
