"""Workers have to end when their owner has been killed."""

import os
import signal
import subprocess
import sys
import time

SCRIPT = """
import multiprocessing, time, torch
from torchrl.envs import AsyncEnvPool, PendulumEnv
torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([PendulumEnv, PendulumEnv], backend="multiprocessing", exchange="queue")
pool.reset()
print(*[process.pid for process in pool.threads], flush=True)
time.sleep(600)
"""


def runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


owner = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE)
workers = [int(pid) for pid in owner.stdout.readline().split()]
owner.kill()
owner.wait()
time.sleep(30)
alive = [pid for pid in workers if runs(pid)]
for pid in alive:
    os.kill(pid, signal.SIGKILL)
text = f"CONFIRMED: {len(alive)} workers run 30 s after their owner was killed"
print(text if alive else "not reproduced")
sys.exit(bool(alive))
# observed: CONFIRMED: 2 workers run 30 s after their owner was killed
