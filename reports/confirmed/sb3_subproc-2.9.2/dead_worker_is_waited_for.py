"""A worker that died (its env raised) must not be waited for: a step does if it was forked, else close does."""

import signal
import sys

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import SubprocVecEnv

WAIT_S = 5
NO_SUCH_ACTION = 7  # CartPole's step raises


def raise_timeout(*_: object) -> None:
    raise TimeoutError


def waiting_call(start_method: str) -> str:
    envs = SubprocVecEnv([lambda: gymnasium.make("CartPole-v1")] * 2, start_method=start_method)
    envs.reset()
    for call in (envs.step, envs.close):
        signal.alarm(WAIT_S)
        try:
            call(np.array([0, NO_SUCH_ACTION])) if call == envs.step else call()
        except TimeoutError:
            return call.__name__
        except (AssertionError, EOFError, OSError) as error:
            print(f"{start_method}: {call.__name__} raised {error!r}")
    signal.alarm(0)
    return ""


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, raise_timeout)
    waited = {each: waiting_call(each) for each in ("fork", "forkserver", "spawn")}
    found = ", ".join(f"{name} with {method}" for method, name in waited.items() if name)
    print(f"CONFIRMED: a dead worker is waited for by {found}" if found else "not reproduced")
    sys.exit(bool(found))
# observed: CONFIRMED: a dead worker is waited for by step with fork, close with forkserver, step with spawn
