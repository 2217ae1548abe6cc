"""Collecting a pool that was shut down has to end also after a receive timed out: a race, so that five are tried."""

import gc
import multiprocessing
import os
import resource
import signal
import time

import torch
from tensordict import TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv

PATIENCE_S, POOLS = 8, 5


class Slow(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        time.sleep(0.52)
        return super()._step(tensordict)


def overdue(*_: object) -> None:
    busy = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    print(f"CONFIRMED: gc.collect() still runs after {PATIENCE_S} s, {busy:.1f} s on the CPU")
    os._exit(1)


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
signal.signal(signal.SIGALRM, overdue)
for _ in range(POOLS):
    pool = AsyncEnvPool([Slow, PendulumEnv], backend="multiprocessing", exchange="queue")
    pool._SHUTDOWN_TIMEOUT = 4.0  # noqa: SLF001 - 60 s otherwise
    pool.async_step_and_maybe_reset_send(pool.rand_action(pool.reset()))
    try:
        pool.async_step_and_maybe_reset_recv(min_get=2, timeout=0.5)
    except TimeoutError:
        pool.async_step_and_maybe_reset_recv(min_get=2)
    pool.step_and_maybe_reset(pool.rand_action(pool.reset()))
    pool.shutdown()
    pool.itself = [pool]
    del pool
    signal.alarm(PATIENCE_S)
    gc.collect()
    signal.alarm(0)
print("not reproduced")
# observed: CONFIRMED: gc.collect() still runs after 8 s, 5.9 s on the CPU
