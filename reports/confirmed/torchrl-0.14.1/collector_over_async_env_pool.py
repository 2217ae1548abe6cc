"""A Collector over an AsyncEnvPool has to deliver its first batch."""

import multiprocessing
import signal
import sys

import torch
from torchrl.collectors import Collector
from torchrl.envs import AsyncEnvPool, PendulumEnv

COMBINATIONS = [
    ("threading", "queue", "dense"),
    ("threading", "queue", "lazy"),
    ("multiprocessing", "queue", "dense"),
    ("multiprocessing", "shm", "dense"),
]


def first_batch(backend: str, exchange: str, stack: str) -> str:
    options = {"backend": backend, "exchange": exchange, "stack": stack}
    pool = AsyncEnvPool([PendulumEnv, PendulumEnv], **options)
    try:
        next(iter(Collector(pool, frames_per_batch=8, total_frames=8)))
    except (AttributeError, KeyError, RuntimeError):
        return f"{backend}/{exchange}/{stack}"
    finally:
        pool.shutdown()
    return ""


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
signal.alarm(60)
failed = [text for text in (first_batch(*options) for options in COMBINATIONS) if text]
print("CONFIRMED: no first batch: " + ", ".join(failed) if failed else "not reproduced")
sys.exit(bool(failed))
# observed: CONFIRMED: no first batch: threading/queue/dense, multiprocessing/queue/dense, multiprocessing/shm/dense
