"""A batch that a pool handed out must not change while its owner holds it."""

import signal
import sys

import torch
from torchrl.envs import AsyncEnvPool, PendulumEnv


def main() -> bool:
    signal.alarm(60)
    pool = AsyncEnvPool([PendulumEnv] * 2, backend="multiprocessing", exchange="shm", stack="lazy")
    held = pool.reset()
    was = held.get("th").clone()
    root = held
    for _ in range(3):
        request = root.copy().set("action", torch.ones(2, 1))
        _, root = pool.step_and_maybe_reset(request)
    now = held.get("th").clone()
    pool.close()
    changed = not torch.equal(was, now)
    text = f"the first angle of the first reset was {was[0]:.3f}, and is {now[0]:.3f} now"
    print(f"CONFIRMED: {text}" if changed else "not reproduced")
    return changed


if __name__ == "__main__":
    sys.exit(main())
# observed: CONFIRMED: the first angle of the first reset was -1.971, and is -1.992 now
