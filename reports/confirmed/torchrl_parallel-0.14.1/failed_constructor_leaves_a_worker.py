"""A constructor that raises because a factory cannot be pickled must end the workers that it had started."""

import multiprocessing
import threading

from torchrl.envs import ParallelEnv, PendulumEnv


def main() -> None:
    lock = threading.Lock()
    factories = [PendulumEnv, lambda: (lock, PendulumEnv())[1]]
    try:
        ParallelEnv(2, factories, mp_start_method="spawn", metadata_from_workers=True)
    except TypeError as error:
        print(f"the constructor raised {error!r}")
    left = [process.name for process in multiprocessing.active_children()]
    print(f"CONFIRMED: left running: {left}" if left else "not reproduced")
    for process in multiprocessing.active_children():
        process.kill()
    raise SystemExit(bool(left))


if __name__ == "__main__":
    main()
# observed: CONFIRMED: left running: ['SpawnProcess-1']
