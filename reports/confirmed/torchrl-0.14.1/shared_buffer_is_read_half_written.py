"""`buffer[:]` of a shared buffer must give whole rows, also while another process is half-way through an extend."""

import multiprocessing
import sys
import time
from typing import Any

import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer

SLOW_S = 6.0
write_entry = TensorDict._set_at_str  # noqa: SLF001 - what an extend calls for each entry


def batch(value: int) -> TensorDict:
    return TensorDict({"a": torch.full((4,), value), "b": torch.full((4,), value)}, [4])


def slowly(*args: Any, **options: Any) -> Any:
    return write_entry(*args, **options), time.sleep(SLOW_S)


def write(buffer: ReplayBuffer) -> None:
    buffer.extend(batch(1))
    TensorDict._set_at_str = slowly  # noqa: SLF001 - a slow machine, so that a reader comes in between
    buffer.extend(batch(2))


torch.set_num_threads(1)
buffer = ReplayBuffer(storage=LazyTensorStorage(4, shared_init=True), shared=True, batch_size=4)
writer = multiprocessing.get_context("fork").Process(target=write, args=(buffer,))
writer.start()
time.sleep(SLOW_S / 2)
rows = buffer[:]
writer.kill()
torn = rows["a"].tolist() != rows["b"].tolist()
print(f"CONFIRMED: a={rows['a'].tolist()} b={rows['b'].tolist()}" if torn else "not reproduced")
sys.exit(torn)
# observed: CONFIRMED: a=[2, 2, 2, 2] b=[1, 1, 1, 1]
