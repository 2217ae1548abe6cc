"""The end of one env's episode must not reset the others, also inside a TransformedEnv."""

import torch
from tensordict import TensorDict
from torchrl.data import Composite, Unbounded
from torchrl.envs import AsyncEnvPool, Compose, EnvBase, StepCounter, TransformedEnv


class Counts(EnvBase):
    def __init__(self, horizon: int) -> None:
        super().__init__(device="cpu", batch_size=[])
        self.horizon, self.resets, self.steps = horizon, 0, 0
        self.observation_spec = Composite(observation=Unbounded((1,)))
        self.action_spec = Unbounded((1,))
        self.reward_spec = Unbounded((1,))

    def _reset(self, *_: object, **__: object) -> TensorDict:
        self.resets, self.steps = self.resets + 1, 0
        return TensorDict({"observation": torch.zeros(1)}, [])

    def _step(self, _: TensorDict) -> TensorDict:
        self.steps += 1
        done = torch.tensor([self.steps >= self.horizon])
        return TensorDict({"observation": done.float(), "reward": torch.ones(1), "done": done}, [])

    def _set_seed(self, seed: int | None) -> None: ...


short, long = Counts(2), Counts(100)
env = TransformedEnv(AsyncEnvPool([short, long], backend="threading"), Compose(StepCounter()))
root = env.reset()
before = long.resets
for _ in range(2):  # the short episode ends with the second step
    _, root = env.step_and_maybe_reset(root.set("action", torch.zeros(2, 1)))
again = long.resets - before
print(f"CONFIRMED: the env that was not done was reset {again} time" if again else "not reproduced")
env.close()
raise SystemExit(bool(again))
# observed: CONFIRMED: the env that was not done was reset 1 time
