"""A step whose env replies what cannot be sent must say why, and closing after it must be clean."""

import signal
import sys
import threading

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import ParallelEnv, PendulumEnv


class Unpicklable(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # type: ignore[override]
        return super()._step(tensordict).set("tag", NonTensorData(threading.Lock()))


class Misshapen(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # type: ignore[override]
        return super()._step(tensordict).set("th", torch.zeros(3))


class Wanting(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # type: ignore[override]
        return super()._step(tensordict).exclude("th")


signal.alarm(100)
found = []
for env, use_buffers in ((Unpicklable, False), (Misshapen, True), (Wanting, True)):
    pool = ParallelEnv(2, [PendulumEnv, env], use_buffers=use_buffers, mp_start_method="fork")
    root, said = pool.rand_action(pool.reset()), []
    for call in (lambda: pool.step(root), lambda: pool.close(raise_if_closed=False)):  # noqa: B023
        try:
            call()
        except (EOFError, RuntimeError, OSError, KeyError) as error:
            said.append(f"{type(error).__name__} {str(error)[:24]}".strip())
    print(env.__name__, said)
    found += [env.__name__] * (said[:1] == ["EOFError"])
print(f"CONFIRMED: {'; '.join(found)}" if found else "not reproduced")
sys.exit(bool(found))
# observed: CONFIRMED:
