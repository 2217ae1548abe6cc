"""Ending workers against a plain model: every small cast to the end, and long endings at random.

The model knows no stages and no shares of time. It is told when each worker would end by itself and
how it takes each request, and says who is told what, when, and who still runs at the end.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reference_impl.core.clock import Deadline
from reference_impl.core.shutdown import Actions, Stage, plan, stop

NEVER: Final = math.inf
KERNEL_S: Final = 0.5  # what a killed worker gets to go, also past the deadline


class HandClock:
    def __init__(self) -> None:
        self.time_s = 0.0

    def now(self) -> float:
        return self.time_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Nature:
    """How a worker ends: by itself, or so many seconds after it is asked, terminated or killed."""

    by_itself_s: float = NEVER
    asked_s: float = NEVER
    terminated_s: float = NEVER
    killed_s: float = NEVER


CAST: Final = {
    "gone before": Nature(by_itself_s=0.0),
    "ends meanwhile": Nature(by_itself_s=3.0),
    "ends late": Nature(by_itself_s=30.0),
    "obeys": Nature(asked_s=0.0),
    "obeys slowly": Nature(asked_s=3.0, killed_s=0.0),
    "obeys too slowly": Nature(asked_s=7.0, terminated_s=0.0),
    "hears SIGTERM": Nature(terminated_s=0.0),
    "hears SIGTERM slowly": Nature(terminated_s=1.0, killed_s=0.0),
    "hears SIGKILL": Nature(killed_s=0.0),
    "goes slowly": Nature(killed_s=0.2),
    "goes too slowly": Nature(killed_s=20.0),
    "never ends": Nature(),
}
LEFT_S: Final = (0.0, 1.0, 10.0)


@dataclass(slots=True)
class Told:
    """A worker, and what it was told when."""

    nature: Nature
    clock: HandClock
    told: list[tuple[str, float]] = field(default_factory=list)

    @property
    def ends_s(self) -> float:
        """When it ends by all that it was told."""
        nature = self.nature
        after = {"ask": nature.asked_s, "terminate": nature.terminated_s, "kill": nature.killed_s}
        return min(nature.by_itself_s, *(when + after[what] for what, when in self.told), NEVER)

    @property
    def alive(self) -> bool:
        """Whether it runs now."""
        return self.clock.time_s < self.ends_s

    def ask(self) -> None:
        """Hear it."""
        self.told.append(("ask", self.clock.time_s))

    def terminate(self) -> None:
        """Hear it."""
        self.told.append(("terminate", self.clock.time_s))

    def kill(self) -> None:
        """Hear it."""
        self.told.append(("kill", self.clock.time_s))

    def join(self, deadline: Deadline) -> bool:
        """Let time pass until it has ended or the deadline has come."""
        until = NEVER if deadline.at is None else deadline.at
        assert min(until, self.ends_s) < NEVER, "waits for ever"
        self.clock.time_s = max(self.clock.time_s, min(until, self.ends_s))
        return not self.alive


@dataclass(frozen=True, slots=True)
class Ending:
    """What comes of it: who was told what when, when it was over, and who runs on."""

    told: tuple[tuple[tuple[str, float], ...], ...]
    over_s: float
    left: frozenset[int]


def foretold(natures: tuple[Nature, ...], left_s: float | None) -> Ending:
    """The model: at each moment at which something is due, to whoever runs then."""
    last = NEVER if left_s is None else left_s
    told: list[list[tuple[str, float]]] = [[] for _ in natures]
    ends = [nature.by_itself_s for nature in natures]
    now = 0.0
    for what in ("ask", "terminate", "kill"):
        running = [i for i, end in enumerate(ends) if end > now]
        if not running:
            break
        if what == "terminate" and now >= last:
            continue  # no time for manners
        for i in running:
            told[i].append((what, now))
            takes = {"ask": "asked_s", "terminate": "terminated_s", "kill": "killed_s"}[what]
            ends[i] = min(ends[i], now + getattr(natures[i], takes))
        half = now + (last - now) / 2
        until = max(last, now + KERNEL_S) if what == "kill" else half
        now = min(until, max(ends[i] for i in running))
    left = frozenset(i for i, end in enumerate(ends) if end > now)
    return Ending(tuple(map(tuple, told)), now, left)


def come_of(natures: tuple[Nature, ...], left_s: float | None) -> Ending:
    clock = HandClock()
    workers = [Told(nature, clock) for nature in natures]
    left = stop(workers, Deadline.after(left_s, clock))
    return Ending(tuple(tuple(worker.told) for worker in workers), clock.time_s, left)


@pytest.mark.parametrize(("size", "cases"), [(1, 36), (2, 432), (3, 5184)])
def test_every_small_cast_ends_as_foretold(size, cases):
    casts = list(itertools.product(itertools.product(CAST, repeat=size), LEFT_S))
    for names, left_s in casts:
        natures = tuple(CAST[name] for name in names)
        assert come_of(natures, left_s) == foretold(natures, left_s), (names, left_s)
    assert len(casts) == cases


END_UNFORCED = [name for name, n in CAST.items() if min(n.by_itself_s, n.asked_s) < NEVER]


@pytest.mark.parametrize(("size", "cases"), [(1, 6), (2, 36), (3, 216)])
def test_without_a_deadline_all_are_asked_and_waited_for(size, cases):
    casts = list(itertools.product(END_UNFORCED, repeat=size))
    for names in casts:
        natures = tuple(CAST[name] for name in names)
        assert come_of(natures, None) == foretold(natures, None), names
    assert len(casts) == cases


@pytest.mark.parametrize("name", [name for name in CAST if name not in END_UNFORCED])
def test_without_a_deadline_nobody_is_forced(name):
    with pytest.raises(AssertionError, match="waits for ever"):
        come_of((CAST[name],), None)


class PlanMachine(RuleBasedStateMachine):
    """An executor whose workers end and whose time passes as they like, between any two looks."""

    WORKERS = 3

    @initialize(left_s=st.none() | st.sampled_from((0.0, 0.25, 8.0)))
    def begin(self, left_s):
        self.left_s = left_s
        self.alive = set(range(self.WORKERS))
        self.told: dict[int, list[Stage]] = {i: [] for i in range(self.WORKERS)}
        self.done: Stage | None = None

    @rule(share=st.sampled_from((0.25, 0.5, 1.0)))
    def time_passes(self, share):
        if self.left_s is not None:
            self.left_s -= self.left_s * share

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def one_ends(self, data):
        self.alive.remove(data.draw(st.sampled_from(sorted(self.alive))))

    @rule()
    def act(self):
        actions = plan(self.done, frozenset(self.alive), self.left_s)
        assert actions.stage is self.due()
        assert actions.targets == (set() if actions.stage is Stage.DONE else self.alive)
        self.check_wait(actions)
        for i in actions.targets:
            self.told[i].append(actions.stage)
        self.done = actions.stage

    def due(self):
        """What the model says is next, by what those that run were told."""
        if not self.alive or self.done is Stage.DONE:
            return Stage.DONE
        told = {tuple(self.told[i]) for i in self.alive}
        assert len(told) == 1, "who runs was told the same"
        [heard] = told
        if not heard:
            return Stage.ASK
        if Stage.KILL in heard:
            return Stage.DONE
        return Stage.KILL if Stage.TERMINATE in heard or self.left_s == 0.0 else Stage.TERMINATE

    def check_wait(self, actions: Actions) -> None:
        if actions.stage is Stage.DONE:
            assert actions.wait_s == 0.0
        elif self.left_s is None:
            assert actions.wait_s is None
        elif actions.stage is Stage.KILL:
            assert actions.wait_s == max(self.left_s, KERNEL_S)
        else:
            assert actions.wait_s == self.left_s / 2

    @invariant()
    def nobody_hears_a_thing_twice_or_out_of_order(self):
        order = [Stage.ASK, Stage.TERMINATE, Stage.KILL]
        for heard in self.told.values():
            assert heard == [stage for stage in order if stage in heard]
            assert not heard or heard[0] is Stage.ASK


PlanMachine.TestCase.settings = settings(
    max_examples=200, stateful_step_count=12, deadline=None, derandomize=True, database=None
)
TestPlan = PlanMachine.TestCase
