"""A writer of a shared buffer that is killed, or stopped, in an extend must not block whoever samples for ever."""

import multiprocessing
import os
import signal
import sys
import time

import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer

PATIENCE_S = 8


def write(buffer: ReplayBuffer, number: int) -> None:
    batch = TensorDict({"x": torch.arange(4)}, batch_size=[4])
    buffer.extend(batch)
    type(buffer.storage).set = lambda *_, **__: os.kill(os.getpid(), number)
    buffer.extend(batch)


torch.set_num_threads(1)
context = multiprocessing.get_context("fork")
stuck = []
for name in ("SIGKILL", "SIGSTOP"):
    buffer = ReplayBuffer(storage=LazyTensorStorage(8, shared_init=True), shared=True, batch_size=4)
    writer = context.Process(target=write, args=(buffer, getattr(signal, name)))
    writer.start()
    time.sleep(3)
    reader = context.Process(target=buffer.sample)
    reader.start()
    reader.join(PATIENCE_S)
    stuck += [name] * reader.is_alive()
    [process.kill() for process in (reader, writer)]
print(f"CONFIRMED: a sample still waits, after {stuck}" if stuck else "not reproduced")
sys.exit(bool(stuck))
# observed: CONFIRMED: a sample still waits, after ["SIGKILL", "SIGSTOP"]
