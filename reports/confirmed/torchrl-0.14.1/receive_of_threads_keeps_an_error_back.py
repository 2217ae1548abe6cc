"""A receive from a pool of threads must raise the error of one env although another has not come back."""

import os
import signal
import threading

import torch
from tensordict import TensorDict
from torchrl.data import Composite, Unbounded
from torchrl.envs import AsyncEnvPool, EnvBase


class Acts(EnvBase):
    def __init__(self, act: object) -> None:
        super().__init__(device="cpu", batch_size=[])
        self.act, self.observation_spec = act, Composite(observation=Unbounded((1,)))
        self.action_spec = self.reward_spec = Unbounded((1,))

    def _reset(self, *_: object, **__: object) -> TensorDict:
        return TensorDict({"observation": torch.zeros(1)}, [])

    def _step(self, _: TensorDict) -> TensorDict:
        return self.act()

    def _set_seed(self, seed: int | None) -> None: ...


def overdue(*_: object) -> None:
    print("CONFIRMED: the receive still waits after 10 s")
    os._exit(1)


signal.signal(signal.SIGALRM, overdue)
pool = AsyncEnvPool([Acts(threading.Event().wait), Acts(lambda: 1 / 0)], backend="threading")
pool.async_step_send(pool.reset().set("action", torch.zeros(2, 1)))
signal.alarm(10)
try:
    pool.async_step_recv(min_get=2)
except ZeroDivisionError:
    print("not reproduced")
