"""A script that an error ends prints the error, and no second one of a finalizer."""

import subprocess
import sys

SCRIPT = """
import os, signal, gymnasium
envs = gymnasium.vector.AsyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2, context="fork")
envs.reset()
os.kill(envs.processes[1].pid, signal.SIGKILL)
envs.step([0, 0])
"""
done = subprocess.run(
    [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
)
lines = done.stderr.splitlines()
found = [line for line in lines if line.startswith("Exception ignored")]
print(f"CONFIRMED: {found[0]}, then {lines[-1]}" if found else "not reproduced")
sys.exit(bool(found))
# observed: CONFIRMED: Exception ignored in: <function AsyncVectorEnv.__del__ at 0x...>, then EOFError:
