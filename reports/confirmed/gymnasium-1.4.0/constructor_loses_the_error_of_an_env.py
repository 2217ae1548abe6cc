"""Making a pool one of whose envs raises must tell that error."""

import os

import gymnasium
import numpy as np
from gymnasium.spaces import Box

MADE_HERE = os.getpid()


class Fails(gymnasium.Env):
    observation_space = action_space = Box(-10, 10, (1,), np.float32)

    def __init__(self) -> None:
        if os.getpid() != MADE_HERE:  # the pool makes one in its own process, too
            raise ValueError("no such level")


try:
    gymnasium.vector.AsyncVectorEnv([Fails], shared_memory=False, context="fork")
except BaseException as error:  # noqa: BLE001 - whatever it is
    if "no such level" in f"{error} {error.__cause__} {error.__context__}":
        print("not reproduced")
    else:
        print(f"CONFIRMED: the env raised a ValueError, the constructor a {type(error).__name__}")
# observed: CONFIRMED: the env raised a ValueError, the constructor a ConnectionResetError
