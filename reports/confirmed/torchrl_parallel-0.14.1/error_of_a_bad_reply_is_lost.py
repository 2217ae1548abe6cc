"""A step whose env replies what cannot be sent must say why, and closing after it must be clean."""

import signal
import sys
import threading

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import ParallelEnv, PendulumEnv


class Bad(PendulumEnv):
    defect = ""

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # type: ignore[override]
        out = super()._step(tensordict)
        if self.defect == "unpicklable":
            return out.set("tag", NonTensorData(threading.Lock()))
        if self.defect == "misshapen":
            return out.set("th", torch.zeros(3))
        return out.select("th")


signal.alarm(100)
torch.set_num_threads(1)
found = []
for defect, use_buffers in (("unpicklable", False), ("misshapen", True), ("wanting", True)):
    Bad.defect, said = defect, []
    pool = ParallelEnv(2, [Bad, Bad], use_buffers=use_buffers, mp_start_method="fork")
    root = pool.rand_action(pool.reset())
    for call in (lambda: pool.step(root), lambda: pool.close(raise_if_closed=False)):  # noqa: B023
        try:
            call()
        except (EOFError, RuntimeError, OSError, KeyError) as error:
            said.append(f"{type(error).__name__} {str(error)[:90]}".strip())
    print(f"{defect}: {said}")
    found += [defect] * (len(said) > 1)
print(f"CONFIRMED: step and close raise: {', '.join(found)}" if found else "not reproduced")
sys.exit(bool(found))
# observed: CONFIRMED: step and close raise: unpicklable, misshapen, wanting
