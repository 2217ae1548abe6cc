"""Ctrl-C that the trainer catches between two steps: `close` is clean."""

import os
import signal
import subprocess
import sys

SCRIPT = """
import time, gymnasium
from stable_baselines3.common.vec_env import SubprocVecEnv
envs = SubprocVecEnv([lambda: gymnasium.make("CartPole-v1")] * 2, start_method="fork")
envs.reset()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    try:
        envs.step([0, 0])
    except OSError as error:
        print("step raised", repr(error))
    envs.close()
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
last = (printed.splitlines() or ["nothing"])[-1]
print(f"CONFIRMED: close() raised {last}" if script.returncode else "not reproduced")
sys.exit(script.returncode)
# observed: CONFIRMED: close() raised EOFError
