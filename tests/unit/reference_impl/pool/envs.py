"""Envs and gates for the tests of the pool."""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass, field

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from tests.patience import PATIENCE_S


class Gate:
    """Holds whoever passes until it is opened; works across a fork. One token lets one pass."""

    def __init__(self) -> None:
        self._tokens = os.pipe()
        self._arrivals = os.pipe()

    def pass_through(self) -> None:
        os.write(self._arrivals[1], b"x")
        os.read(self._tokens[0], 1)

    def await_arrival(self, timeout_s: float = PATIENCE_S) -> None:
        assert select.select([self._arrivals[0]], [], [], timeout_s)[0], "nobody came to the gate"
        os.read(self._arrivals[0], 1)

    def open(self, times: int = 1) -> None:
        os.write(self._tokens[1], b"x" * times)

    def close(self) -> None:
        for fd in (*self._tokens, *self._arrivals):
            os.close(fd)


@dataclass(frozen=True)
class Behaviour:
    """What a probe env does, and in which of its steps or resets (counted from 1 over its life)."""

    length: int = 3
    raise_in_steps: tuple[int, ...] = ()
    raise_in_resets: tuple[int, ...] = ()
    exit_in_steps: tuple[int, ...] = ()
    kill_in_steps: tuple[int, ...] = ()
    stop_in_steps: tuple[int, ...] = ()
    unpicklable_in_steps: tuple[int, ...] = ()
    gate: Gate | None = None
    size: int = 1
    extra: dict[str, int] = field(default_factory=dict)


class ProbeEnv(EnvBase):
    """Shows (tag, episode, step) and the action's sum; ends an episode after `length` steps."""

    def __init__(self, tag: int = 0, behaviour: Behaviour | None = None) -> None:
        super().__init__(batch_size=())
        self.tag = tag
        self.behaviour = behaviour or Behaviour()
        self.episode = self.step_in_episode = self.steps = self.resets = 0
        self.draw = 0.0
        self.observation_spec = Composite(
            observation=Unbounded((3,)),
            draw=Unbounded((1,)),
            filler=Unbounded((self.behaviour.size,)),
        )
        self.action_spec = Bounded(-1.0, 1.0, (2,))
        self.reward_spec = Unbounded((1,))
        self.done_spec = Composite(
            done=Categorical(2, (1,), dtype=torch.bool),
            terminated=Categorical(2, (1,), dtype=torch.bool),
            truncated=Categorical(2, (1,), dtype=torch.bool),
        )
        self._reused = torch.zeros(3)

    def _shown(self) -> TensorDictBase:
        self._reused.copy_(
            torch.tensor([float(self.tag), float(self.episode), float(self.step_in_episode)])
        )
        over = torch.tensor([self.step_in_episode >= self.behaviour.length])
        return TensorDict(
            {
                "observation": self._reused,
                "draw": torch.tensor([self.draw]),
                "filler": torch.full((self.behaviour.size,), float(self.steps)),
                "done": over,
                "terminated": over.clone(),
                "truncated": torch.tensor([False]),
            },
            batch_size=(),
        )

    def _reset(self, tensordict: TensorDictBase | None = None) -> TensorDictBase:  # noqa: ARG002 - the base class calls it so
        self.resets += 1
        if self.resets in self.behaviour.raise_in_resets:
            raise LookupError(f"planned in reset {self.resets}")
        self.episode += 1
        self.step_in_episode = 0
        return self._shown()

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self.steps += 1
        plan = self.behaviour
        if plan.gate is not None:
            plan.gate.pass_through()
        if self.steps in plan.raise_in_steps:
            raise LookupError(f"planned in step {self.steps}")
        if self.steps in plan.exit_in_steps:
            raise SystemExit(7)
        if self.steps in plan.kill_in_steps:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.steps in plan.stop_in_steps:
            os.kill(os.getpid(), signal.SIGSTOP)
        self.step_in_episode += 1
        shown = self._shown()
        shown["reward"] = tensordict["action"].sum().reshape(1)
        if self.steps in plan.unpicklable_in_steps:
            shown["extra"] = _Unpicklable()
        return shown

    def _set_seed(self, seed: int | None) -> None:
        self.draw = 0.0 if seed is None else float(seed % 1_000_003)


class _Unpicklable:
    def __reduce__(self) -> str:
        raise TypeError("planned: cannot be pickled")
