"""A batch [envs, 1] is a batch: a buffer stores it and returns, or raises and has not stored it."""

import sys

import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer, TensorDictReplayBuffer

found = []
for kind in (ReplayBuffer, TensorDictReplayBuffer):
    for steps in (1, 2):
        buffer = kind(storage=LazyTensorStorage(24, ndim=2), batch_size=4)
        try:
            buffer.extend(TensorDict({"x": torch.zeros(3, steps)}, batch_size=[3, steps]))
        except RuntimeError as error:
            found.append(
                f"{kind.__name__}, [3, {steps}]: raised {str(error)[:44]}, and holds {len(buffer)} elements"
            )
print("CONFIRMED: " + "; ".join(found) if found else "not reproduced")
sys.exit(bool(found))
# observed: CONFIRMED: TensorDictReplayBuffer, [3, 1]: raised tensor shape is incompatible with dest shape, and holds 3
# elements
