"""SIGINT ends a script, also when it reaches the script alone and the workers do not hear of it."""

import os
import signal
import subprocess
import sys
import time

SCRIPT = """
import multiprocessing, time, torch
from torchrl.envs import AsyncEnvPool, PendulumEnv
class Slow(PendulumEnv):
    def _step(self, td):
        print("steps", flush=True)
        time.sleep(3)
        return super()._step(td)
torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([Slow, Slow], backend="multiprocessing", exchange="queue")
pool.step(pool.rand_action(pool.reset()))
"""
PATIENCE_S = 30
script = subprocess.Popen(
    [sys.executable, "-c", SCRIPT],
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    start_new_session=True,
)
script.stdout.readline()
time.sleep(0.5)
script.send_signal(signal.SIGINT)
try:
    print(f"not reproduced: exit code {script.wait(PATIENCE_S)}")
except subprocess.TimeoutExpired:
    print(f"CONFIRMED: {PATIENCE_S} s after SIGINT to it alone the script still runs")
    os.killpg(script.pid, signal.SIGKILL)
    sys.exit(1)
# observed: CONFIRMED: 30 s after SIGINT to it alone the script still runs
