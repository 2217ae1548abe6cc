"""A receive that meets one result that cannot be rebuilt must not lose the others."""

import multiprocessing
import sys
import time

import torch
from tensordict import NonTensorData, TensorDictBase
from torchrl.envs import AsyncEnvPool, PendulumEnv


class Broken:
    def __reduce__(self) -> tuple:
        return int, ("cannot be rebuilt",)  # raises ValueError where it is read


class Env(PendulumEnv):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        late = bool(tensordict["action"].any())
        time.sleep(0.5 * late)
        return super()._step(tensordict).set("tag", NonTensorData(Broken() if late else 0))


torch.set_num_threads(1)
multiprocessing.set_start_method("fork", force=True)
pool = AsyncEnvPool([Env, Env], backend="multiprocessing", exchange="queue", stack="lazy")
td = pool.reset()
td["action"] = torch.tensor([[0.0], [1.0]])
pool.async_step_send(td)
for timeout in (3.0, 2.0):
    try:
        pool.async_step_recv(min_get=2 if timeout == 3.0 else 1, timeout=timeout)
    except (ValueError, TimeoutError, RuntimeError) as error:
        print(f"receive raised {type(error).__name__}: {error}"[:110])
        lost = isinstance(error, TimeoutError)
print("CONFIRMED: the result of the other env is gone" if lost else "not reproduced")
pool.shutdown()
sys.exit(lost)
# observed: CONFIRMED: the result of the other env is gone
