"""A full disk has to be an error of the write that needs room, not the end of the process (needs root: mounts one)."""

import signal
import subprocess
import sys
import tempfile

import torch
from tensordict import TensorDict
from torchrl.data import LazyMemmapStorage, ReplayBuffer

if len(sys.argv) == 1:
    with tempfile.TemporaryDirectory() as disk:
        mount = (
            f"mount -t tmpfs -o size=1m none {disk}; exec {sys.executable} {__file__} {disk}/rows"
        )
        done = subprocess.run(["unshare", "-m", "sh", "-c", mount], check=False)
    died = done.returncode in (-signal.SIGBUS, 128 + signal.SIGBUS)
    print(
        "CONFIRMED: a write to a full disk ended the process by SIGBUS"
        if died
        else "not reproduced"
    )
    sys.exit(died)
torch.set_num_threads(1)
storage = LazyMemmapStorage(100, scratch_dir=sys.argv[1])
buffer = ReplayBuffer(storage=storage, batch_size=4)
for _ in range(10):
    try:
        buffer.extend(TensorDict({"x": torch.ones(10, 65536, dtype=torch.uint8)}, batch_size=[10]))
    except OSError as error:
        print(f"refused: {error}")
        break
# observed: CONFIRMED: a write to a full disk ended the process by SIGBUS
