"""A constructor that raises because a factory cannot be pickled must join the workers that it had started."""

import gc
import os
import threading
import time

import gymnasium


class Idle(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)


def pipes() -> int:
    paths = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    return sum(os.readlink(path).startswith("pipe") for path in paths if os.path.lexists(path))


def main() -> None:
    lock = threading.Lock()
    factories = [Idle, lambda: (lock, Idle())[1]]
    before = pipes()
    try:
        gymnasium.vector.AsyncVectorEnv(factories, context="spawn")
    except TypeError as error:
        print(f"the constructor raised {error!r}")
    gc.collect()
    time.sleep(5)  # the first worker ends by itself, and nobody joins it
    more = pipes() - before
    print(f"CONFIRMED: {more} more pipes are open" if more > 1 else "not reproduced")
    raise SystemExit(more > 1)


if __name__ == "__main__":
    main()
# observed: CONFIRMED: 3 more pipes are open
