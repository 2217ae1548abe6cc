"""Workers have to end when their owner has been killed."""

import os
import signal
import subprocess
import sys
import time

SCRIPT = """
import time, gymnasium
from stable_baselines3.common.vec_env import SubprocVecEnv
envs = SubprocVecEnv([lambda: gymnasium.make("CartPole-v1")] * 2, start_method="fork")
envs.reset()
print(*[process.pid for process in envs.processes], flush=True)
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
time.sleep(20)
alive = [pid for pid in workers if runs(pid)]
print(f"CONFIRMED: {len(alive)} workers run 20 s after their owner" if alive else "not reproduced")
for pid in alive:
    os.kill(pid, signal.SIGKILL)
sys.exit(bool(alive))
# observed: CONFIRMED: 2 workers run 20 s after their owner
