"""The sb3_subproc backend: stable-baselines3's `SubprocVecEnv`."""

from __future__ import annotations

from stable_baselines3.common.vec_env import SubprocVecEnv

from harness.adapters._gymnasium_env import FLAT
from harness.adapters._sb3 import backend_of
from harness.ports.pool import START_METHODS, PoolCapabilities

_CAPABILITIES = PoolCapabilities(
    verbs=frozenset({"send", "seed", "params_attribute", "params_method"}),
    setup={
        "start_method": START_METHODS,
        "payload": FLAT | {"reward_array"},
    },
    promises_forms=True,
    transfers={"process": frozenset({"commands", "results"})},
    once=frozenset({"commands", "results"}),  # one pipe a worker: it repeats nothing
    closes_by_itself=False,  # it has no finalizer, and nothing promises that dropping it is enough
)
backend = backend_of(
    "sb3_subproc",
    _CAPABILITIES,
    lambda makers, setup: SubprocVecEnv(makers, start_method=setup.start_method),
)
