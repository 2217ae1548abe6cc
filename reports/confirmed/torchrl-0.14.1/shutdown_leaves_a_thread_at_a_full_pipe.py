"""After `shutdown()`, once the pool is gone, no thread may be left, also of a worker that took no command."""

import contextlib
import gc
import multiprocessing
import os
import threading
import time

import torch
from tensordict import TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv


class Hanging(PendulumEnv):
    def _step(self, _: TensorDictBase) -> TensorDictBase:
        time.sleep(60)


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([Hanging, Hanging], backend="multiprocessing", exchange="queue")
pool._SHUTDOWN_TIMEOUT = 2.0  # noqa: SLF001 - 60 s otherwise
pool.async_step_send(pool.rand_action(pool.reset()))
time.sleep(1.0)  # now both hang in a step
pipe = pool.input_queue[0]._writer.fileno()  # noqa: SLF001 - as full as many large commands make it
os.set_blocking(pipe, False)
with contextlib.suppress(BlockingIOError):
    while True:
        os.write(pipe, bytes(4096))
os.set_blocking(pipe, True)
pool.shutdown()
del pool
gc.collect()
time.sleep(2.0)
left = [thread.name for thread in threading.enumerate() if thread.name.startswith("QueueFeeder")]
text = f"CONFIRMED: 2 s after the pool is gone there is {left}"
print(text if left else "not reproduced", flush=True)
os._exit(bool(left))
# observed: CONFIRMED: 2 s after the pool is gone there is ['QueueFeederThread']
