"""Ctrl-C that the trainer catches between two steps: workers print nothing, and `close` is clean."""

import os
import signal
import subprocess
import sys

SCRIPT = """
import sys, time, torch
from torchrl.envs import ParallelEnv, PendulumEnv
torch.set_num_threads(1)
pool = ParallelEnv(2, PendulumEnv, mp_start_method="fork")
pool.reset()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(2)
    try:
        pool.close()
    except (RuntimeError, EOFError, OSError) as error:
        print(f"close() raised {type(error).__name__}: {error}"[:70])
"""
script = subprocess.Popen(
    [sys.executable, "-c", SCRIPT],
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
    start_new_session=True,
)
script.stdout.readline()
os.killpg(script.pid, signal.SIGINT)
said, printed = script.communicate(timeout=90)
count = printed.count("Traceback (most recent call last)")
found = "raised" in said or count > 1
print(f"CONFIRMED: {said.strip()}; {count} tracebacks of workers" if found else "not reproduced")
sys.exit(found)
# observed: CONFIRMED: close() raised RuntimeError: At least one process failed: worker 0 (ex; 2 tracebacks of workers
