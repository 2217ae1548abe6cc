"""When an env raises, the step has to raise with that error, as it does in a SerialEnv."""

import signal
import sys
import traceback

from tensordict import TensorDictBase
from torchrl.envs import ParallelEnv, PendulumEnv, SerialEnv


class Failing(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # type: ignore[override]
        raise ValueError("the env's own words")


def told_by(pool: SerialEnv | ParallelEnv) -> str:
    root = pool.rand_action(pool.reset())
    try:
        pool.step(root)
    except (ValueError, RuntimeError, EOFError):
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    signal.alarm(60)
    serial = told_by(SerialEnv(2, Failing))
    for use_buffers in (False, True):
        parallel = told_by(ParallelEnv(2, Failing, use_buffers=use_buffers, mp_start_method="fork"))
        if "own words" in serial and parallel and "own words" not in parallel:
            print(f"CONFIRMED: the step raised {parallel.splitlines()[-1]!r}, nothing of the env")
            sys.exit(1)
    print("not reproduced")
# observed: CONFIRMED: the step raised 'EOFError', nothing of the env
