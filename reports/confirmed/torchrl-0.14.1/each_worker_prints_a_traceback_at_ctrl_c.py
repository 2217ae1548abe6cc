"""Ctrl-C that the trainer catches between two steps: workers print nothing of their own."""

import os
import signal
import subprocess
import sys

SCRIPT = """
import multiprocessing, time, torch
from torchrl.envs import AsyncEnvPool, PendulumEnv
torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([PendulumEnv, PendulumEnv], backend="multiprocessing", exchange="queue")
pool.reset()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    pool._SHUTDOWN_TIMEOUT = 2.0
    pool.shutdown()
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
_, printed = script.communicate(timeout=60)
count = printed.count("Traceback (most recent call last)")
print(f"CONFIRMED: {count} tracebacks of workers" if count > 1 else f"not reproduced: {count}")
sys.exit(count > 1)
# observed: CONFIRMED: 2 tracebacks of workers
