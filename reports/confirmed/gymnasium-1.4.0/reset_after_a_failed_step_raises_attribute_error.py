"""After a step that one env made fail, a reset must work, or say that the envs are closed."""

import signal
import sys
from functools import partial

import gymnasium


class FailingOnce(gymnasium.Wrapper):
    failed = False

    def step(self, action: object) -> tuple:
        if not self.failed:
            type(self).failed = True
            raise ValueError("once")
        return super().step(action)


def make(index: int) -> gymnasium.Env:
    env = gymnasium.make("CartPole-v1")
    return FailingOnce(env) if index == 1 else env


signal.alarm(60)
envs = gymnasium.vector.AsyncVectorEnv([partial(make, i) for i in range(2)], context="fork")
envs.reset()
raised = None
try:
    envs.step([0, 0])
except ValueError:
    try:
        envs.reset()
    except AttributeError as error:
        raised = error
envs.close(terminate=True)
print(f"CONFIRMED: the reset raised {raised!r}" if raised else "not reproduced")
sys.exit(raised is not None)
# observed: CONFIRMED: the reset raised AttributeError("'NoneType' object has no attribute 'send'")
