"""A step that finds /dev/shm full must raise, not wait for ever. Needs root."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import torch
from torchrl.envs import AsyncEnvPool, PendulumEnv

OWN = 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$0" "$@"'


def main() -> None:
    pool = AsyncEnvPool([PendulumEnv] * 2, backend="multiprocessing", exchange="queue")
    root = pool.reset().set("action", torch.zeros(2, 1))
    with Path("/dev/shm/filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(bytes(4096)):
            pass
    for _ in range(8):
        _, root = pool.step_and_maybe_reset(root.set("action", torch.zeros(2, 1)))


def give_up(*_: object) -> None:
    print("CONFIRMED: a step with /dev/shm full waits for more than 20 s")
    os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        again = ["unshare", "-m", "sh", "-c", OWN, sys.executable, __file__, "inside"]
        os.execvp(again[0], again)
    os.setpgrp()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    main()
    print("not reproduced")
# observed: CONFIRMED: a step with /dev/shm full waits for more than 20 s
