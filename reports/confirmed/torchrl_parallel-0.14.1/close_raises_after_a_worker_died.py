"""The step that met a dead worker says so; closing the pool after that must be clean."""

import multiprocessing
import signal
import sys

from torchrl.envs import ParallelEnv, PendulumEnv


def closing_error(pool: ParallelEnv) -> str:
    try:
        pool.close(raise_if_closed=False)
    except (RuntimeError, OSError) as error:
        return f"{type(error).__name__}: {str(error)[:20]}..."
    return ""


def closing_errors(use_buffers: bool) -> list[str]:
    pool = ParallelEnv(2, PendulumEnv, use_buffers=use_buffers, mp_start_method="fork")
    root = pool.rand_action(pool.reset())
    worker = multiprocessing.active_children()[0]
    worker.kill()
    worker.join()
    try:
        pool.step(root)
    except (RuntimeError, EOFError, OSError) as error:
        print(f"use_buffers={use_buffers}: the step raised {type(error).__name__}: {error}")
    return [closing_error(pool), closing_error(pool)]


if __name__ == "__main__":
    signal.alarm(60)
    found = [errors for buffers in (False, True) if any(errors := closing_errors(buffers))]
    print(f"CONFIRMED: close raised {' and then '.join(found[0])}" if found else "not reproduced")
    sys.exit(bool(found))
# observed: CONFIRMED: close raised RuntimeError: At least one process... and then RuntimeError: At least one process...
