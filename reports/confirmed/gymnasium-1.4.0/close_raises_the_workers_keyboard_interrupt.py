"""Ctrl-C in a step, which the trainer catches: `close` after it must not raise the interrupt once more."""

import os
import signal
import subprocess
import sys

SCRIPT = """
import sys, time, gymnasium
class Slow(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)
    def reset(self, **_):
        return 0, {}
    def step(self, action):
        print("stepping", flush=True)
        time.sleep(30)
envs = gymnasium.vector.AsyncVectorEnv([Slow, Slow], context="fork")
envs.reset()
try:
    envs.step([0, 0])
except KeyboardInterrupt:
    try:
        envs.close()
    except KeyboardInterrupt as error:
        print("close() raised KeyboardInterrupt", flush=True)
"""
script = subprocess.Popen(
    [sys.executable, "-c", SCRIPT],
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
    start_new_session=True,
)
for _ in range(2):
    script.stdout.readline()
os.killpg(script.pid, signal.SIGINT)
said, _ = script.communicate(timeout=60)
print(f"CONFIRMED: {said.strip()}" if "raised" in said else "not reproduced")
sys.exit("raised" in said)
# observed: CONFIRMED: close() raised KeyboardInterrupt
