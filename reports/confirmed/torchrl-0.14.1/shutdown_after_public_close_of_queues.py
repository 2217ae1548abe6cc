"""`shutdown()` has to end the workers also after somebody closed the queues by `Queue.close()`."""

import multiprocessing
import os
import signal
import sys

import torch
from torchrl.envs import AsyncEnvPool, PendulumEnv

torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
signal.alarm(60)
pool = AsyncEnvPool([PendulumEnv, PendulumEnv], backend="multiprocessing", exchange="queue")
pool._SHUTDOWN_TIMEOUT = 2.0  # noqa: SLF001 - 60 s otherwise
pool.reset()
for queue in (pool.step_queue, pool.reset_queue, pool.step_reset_queue):
    queue.close()
said = "nothing"
try:
    pool.shutdown()
except (OSError, ValueError) as error:
    said = type(error).__name__
for process in pool.threads:
    process.join(3)
alive = [process for process in pool.threads if process.is_alive()]
for process in alive:
    process.kill()
if said == "nothing" and not alive:
    print("not reproduced")
    sys.exit(0)
print(f"CONFIRMED: shutdown() raised {said}; {len(alive)} workers were alive 3 s later")
os._exit(1)
# observed: CONFIRMED: shutdown() raised ValueError; 2 workers were alive 3 s later
