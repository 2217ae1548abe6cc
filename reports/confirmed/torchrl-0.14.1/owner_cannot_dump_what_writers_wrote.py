"""Who shares a buffer with its writers has to be able to dump what they wrote, also if he has read nothing yet."""

import multiprocessing
import sys
import tempfile

import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer


def write(buffer: ReplayBuffer) -> None:
    buffer.extend(TensorDict({"x": torch.arange(4)}, batch_size=[4]))


torch.set_num_threads(1)
buffer = ReplayBuffer(storage=LazyTensorStorage(4, shared_init=True), shared=True, batch_size=4)
writer = multiprocessing.get_context("fork").Process(target=write, args=(buffer,))
writer.start()
writer.join()
try:
    buffer.dumps(tempfile.mkdtemp())
except RuntimeError as error:
    print(f"CONFIRMED: of {len(buffer)} rows: {error}")
    sys.exit(1)
print("not reproduced")
# observed: CONFIRMED: of 4 rows: Cannot save a non-initialized storage.
