"""A tensor that cannot be shared because /dev/shm is full must leave nothing there. Needs root."""

import contextlib
import os
import sys
from pathlib import Path

import torch

OWN = 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$0" "$@"'

if __name__ == "__main__":
    if len(sys.argv) == 1:
        again = ["unshare", "-m", "sh", "-c", OWN, sys.executable, __file__, "inside"]
        os.execvp(again[0], again)
    with Path("/dev/shm/filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(bytes(4096)):
            pass
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with contextlib.suppress(RuntimeError):
            torch.zeros(4096).share_memory_()
    names = len(os.listdir("/dev/shm")) - 1
    fds = len(os.listdir("/proc/self/fd")) - before
    confirmed = names > 0 and fds > 0
    print(
        f"CONFIRMED: {names} names and {fds} descriptors are left"
        if confirmed
        else "not reproduced"
    )
    sys.exit(confirmed)
# observed: CONFIRMED: 3 names and 3 descriptors are left
