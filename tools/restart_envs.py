"""Envs of long runs: what they show says who they are, what they do is written down, and they fail on demand."""

from __future__ import annotations

import enum
import os
import signal
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from harness.model.probe import NO_ACTION, WIDTH, encode, reward
from tools.restart_records import Done, Entry


class Demand(enum.IntEnum):
    """What an action asks of the env besides a step."""

    NOTHING = 0
    RAISE = 1  # instead of the step
    DIE_BEFORE = 2  # SIGKILL instead of the step
    DIE_AFTER = 3  # SIGKILL instead of the answer
    STOP = 4  # SIGSTOP before the step


class StampedEnv(EnvBase):
    """Shows a probe observation (int64) of its course; the action is (id, demand), int64.

    Args:
        env_index: which env of the pool it is.
        journal: the file that it appends what it does to.
        horizon: after how many steps an episode is truncated.
    """

    def __init__(self, env_index: int, journal: str, horizon: int) -> None:
        super().__init__(batch_size=())
        self._index, self._journal, self._horizon = env_index, journal, horizon
        self._episode = self._steps = 0
        self.observation_spec = Composite(observation=Unbounded((WIDTH,), dtype=torch.int64))
        self.action_spec = Unbounded((2,), dtype=torch.int64)
        self.reward_spec = Unbounded((1,), dtype=torch.float64)
        done = Categorical(2, (1,), dtype=torch.bool)
        self.done_spec = Composite(done=done, terminated=done.clone(), truncated=done.clone())

    def _note(self, done: Done, value: int) -> None:
        # Opened for each line: a killed process leaves whole lines, and no descriptor is inherited.
        entry = Entry(env=self._index, incarnation=os.getpid(), done=done, value=value)
        fd = os.open(self._journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, entry.line())
        finally:
            os.close(fd)

    def _is_first(self, id_: int) -> bool:
        """Whether no env was asked for this step before: trouble comes once, whoever repeats a step."""
        try:
            os.close(os.open(f"{self._journal}.{id_}", os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        return True

    def _shown(self, action: int) -> TensorDict:
        over = self._steps >= self._horizon
        stamp = encode(
            env_index=self._index,
            incarnation=os.getpid(),
            episode=self._episode,
            step=self._steps,
            action=action,
        )
        entries = {
            "observation": torch.tensor(stamp),
            "done": torch.tensor([over]),
            "terminated": torch.tensor([False]),
            "truncated": torch.tensor([over]),
        }
        return TensorDict(entries, batch_size=())

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:  # noqa: ARG002 - the base class calls it so
        self._episode += 1
        self._steps = 0
        self._note(Done.RESET, self._episode)
        return self._shown(NO_ACTION)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        id_, demand = tensordict["action"].tolist()
        if demand and not self._is_first(id_):
            demand = Demand.NOTHING
        if demand == Demand.RAISE:
            self._note(Done.RAISED, id_)
            raise LookupError(f"planned in step {id_}")
        if demand == Demand.STOP:
            os.kill(os.getpid(), signal.SIGSTOP)
        if demand == Demand.DIE_BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        self._steps += 1
        self._note(Done.STEPPED, id_)
        if demand == Demand.DIE_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)
        earned = torch.tensor([reward(self._index, self._steps)], dtype=torch.float64)
        return self._shown(id_).set("reward", earned)

    def _set_seed(self, seed: int | None) -> None:
        self._note(Done.SEEDED, -1 if seed is None else seed)
