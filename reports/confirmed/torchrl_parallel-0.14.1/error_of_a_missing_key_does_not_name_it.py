"""The error of a step whose env left out a key must say which: `ParallelEnv` and `SerialEnv` by value."""

import signal
import sys

import torch
from tensordict import TensorDictBase
from torchrl.envs import EnvBase, ParallelEnv, PendulumEnv, SerialEnv


class Wanting(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # type: ignore[override]
        return super()._step(tensordict).exclude("th")


def told_by(pool: EnvBase) -> str:
    try:
        pool.step(pool.rand_action(pool.reset()))
    except Exception as error:  # whatever it is
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return "nothing"


if __name__ == "__main__":
    signal.alarm(100)
    torch.set_num_threads(1)
    wrong = []
    for kind, how in ((SerialEnv, {}), (ParallelEnv, {"mp_start_method": "fork"})):
        pool = kind(2, [PendulumEnv, Wanting], use_buffers=False, **how)
        told = told_by(pool)
        pool.close()
        print(f"{kind.__name__}: {told}"[:150])
        wrong += [kind.__name__] * ("stack_dim" in told)
    print(f"CONFIRMED: {' and '.join(wrong)} blame 'stack_dim'" if wrong else "not reproduced")
    sys.exit(bool(wrong))
# observed: CONFIRMED: SerialEnv and ParallelEnv blame 'stack_dim'
