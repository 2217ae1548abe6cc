"""What a step returned must not change with the next one: `SerialEnv` without buffers, one of its envs was reset."""

import sys

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Composite, Unbounded
from torchrl.envs import EnvBase, SerialEnv


class Reuses(EnvBase):
    def __init__(self, horizon: int) -> None:
        super().__init__(batch_size=[])
        self.shown, self.horizon = torch.zeros(1), horizon
        self.observation_spec = Composite(observation=Unbounded((1,)))
        self.action_spec = self.reward_spec = Unbounded((1,))

    def _reset(self, _: TensorDictBase | None = None, **__: object) -> TensorDictBase:
        self.shown.zero_()
        return TensorDict(observation=self.shown, done=torch.tensor([False]))

    def _step(self, _: TensorDictBase) -> TensorDictBase:
        self.shown += 1
        done = torch.tensor([bool(self.shown == self.horizon)])
        return TensorDict(observation=self.shown, reward=torch.zeros(1), done=done)

    def _set_seed(self, _: int | None) -> None: ...


envs = SerialEnv(2, [lambda: Reuses(2), lambda: Reuses(9)], use_buffers=False)
root = envs.reset()
for _ in range(2):
    _, root = envs.step_and_maybe_reset(envs.rand_action(root))
before = root["observation"].flatten().tolist()
envs.step_and_maybe_reset(envs.rand_action(root.copy()))
after = root["observation"].flatten().tolist()
text = f"CONFIRMED: a step returned {before}, which is {after} after the next one"
print(text if before != after else "not reproduced")
sys.exit(before != after)
# observed: CONFIRMED: a step returned [0.0, 2.0], which is [1.0, 2.0] after the next one
