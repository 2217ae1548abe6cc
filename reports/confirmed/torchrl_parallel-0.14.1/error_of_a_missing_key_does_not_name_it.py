"""The error of a step whose env left out a nested key must say which: `ParallelEnv` and `SerialEnv` by value."""

import signal
import sys

import torch
from tensordict import TensorDictBase
from torchrl.envs import EnvBase, ParallelEnv, PendulumEnv, SerialEnv


class Wanting(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # type: ignore[override]
        out = super()._step(tensordict)
        return out.set("params", out["params"].exclude("g"))


def told_by(pool: EnvBase) -> str:
    try:
        pool.step_and_maybe_reset(pool.rand_action(pool.reset()))
    except (AttributeError, KeyError, RuntimeError, EOFError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


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
