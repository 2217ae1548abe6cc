"""Once there are descriptors again, a reset must reset: not be answered by a step that failed for want of them."""

import multiprocessing
import os
import resource
import signal

import torch
from torchrl.envs import ParallelEnv
from torchrl.testing.mocking_classes import CountingEnv

signal.alarm(60)
torch.set_num_threads(1)
envs = ParallelEnv(2, CountingEnv, use_buffers=False, mp_start_method="fork")
root = envs.reset()
action = torch.ones(2, 1, dtype=root["observation"].dtype)
raised = []
free = [os.dup(0), os.dup(0)]
for fd in free:
    os.close(fd)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(free), hard))  # one to spare
for _ in range(12):
    try:
        _, root = envs.step_and_maybe_reset(root.set("action", action.clone()))
    except (OSError, RuntimeError, EOFError) as error:
        raised.append(type(error).__name__)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
counts = envs.reset()["observation"].flatten().tolist()
confirmed = counts != [0, 0]
text = f"CONFIRMED: after {len(raised)} steps that failed and a reset the counters are {counts}"
print(text if confirmed else f"not reproduced: {raised}", flush=True)
for process in multiprocessing.active_children():
    process.kill()
os._exit(confirmed)
# observed: CONFIRMED: after 12 steps that failed and a reset the counters are [1, 0]
