"""Ending workers: a pure plan (ask, terminate, kill) with one deadline, and its executor."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from reference_impl.core.clock import Deadline

if TYPE_CHECKING:
    from collections.abc import Sequence

_KILL_WAIT_S: Final = (
    0.5  # the least that the kernel gets to take a killed process away, also past the deadline
)


class Stage(enum.Enum):
    """How far the plan has got; each stage acts once, then waits for its share of what is left."""

    ASK = "ask"
    TERMINATE = "terminate"
    KILL = "kill"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What the executor does next.

    Attributes:
        stage: what to do to each of `targets`; DONE: nothing, return.
        targets: the workers it is done to.
        wait_s: how long to wait for their end afterwards, in seconds; None: until they end.
    """

    stage: Stage
    targets: frozenset[int]
    wait_s: float | None


_NEXT: Final = {
    None: Stage.ASK,
    Stage.ASK: Stage.TERMINATE,
    Stage.TERMINATE: Stage.KILL,
    Stage.KILL: Stage.DONE,
    Stage.DONE: Stage.DONE,
}
_SHARE: Final = {Stage.ASK: 0.5, Stage.TERMINATE: 0.5, Stage.KILL: 1.0}


def plan(done: Stage | None, alive: frozenset[int], left_s: float | None) -> Actions:
    """Return what follows after the stage `done` (None: nothing yet).

    Args:
        done: the last stage that was carried out and waited for.
        alive: workers that still run.
        left_s: seconds until the deadline for all; None: there is none, so nobody is ever forced.
    """
    stage = _NEXT[done]
    if not alive or stage is Stage.DONE:
        return Actions(stage=Stage.DONE, targets=frozenset(), wait_s=0.0)
    if left_s is None:
        return Actions(stage=stage, targets=alive, wait_s=None)
    if left_s <= 0.0 and done is not None:
        stage = Stage.KILL
    wait_s = left_s * _SHARE[stage]
    return Actions(
        stage=stage,
        targets=alive,
        wait_s=max(wait_s, _KILL_WAIT_S) if stage is Stage.KILL else wait_s,
    )


class Member(Protocol):
    """A worker as the executor sees it; no method raises when the worker is gone already."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        ...

    def ask(self) -> None:
        """Ask it to end; must not wait."""
        ...

    def terminate(self) -> None:
        """Tell it to end at once, if that is possible."""
        ...

    def kill(self) -> None:
        """End it, if that is possible."""
        ...

    def join(self, deadline: Deadline) -> bool:
        """Wait for its end; return whether it ended."""
        ...


def stop(members: Sequence[Member], deadline: Deadline) -> frozenset[int]:
    """End all members; return the positions of those that still run (threads that do not listen).

    All are asked before the first is waited for, so that a slow one costs the others nothing.
    """
    done: Stage | None = None
    while True:
        alive = frozenset(i for i, member in enumerate(members) if member.alive)
        actions = plan(done, alive, deadline.left())
        if actions.stage is Stage.DONE:
            return alive
        for i in sorted(actions.targets):
            _act(members[i], actions.stage)
        until = Deadline.after(actions.wait_s, deadline.clock)
        for i in sorted(actions.targets):
            members[i].join(until)
        done = actions.stage


def _act(member: Member, stage: Stage) -> None:
    if stage is Stage.ASK:
        member.ask()
    elif stage is Stage.TERMINATE:
        member.terminate()
    else:
        member.kill()
