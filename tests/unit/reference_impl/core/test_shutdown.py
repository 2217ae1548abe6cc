"""The plan of ending workers, in every state; and its executor on a clock that is moved by hand."""

from __future__ import annotations

import itertools

import pytest

from reference_impl.core.clock import Deadline
from reference_impl.core.shutdown import Stage, plan, stop

STAGES = (None, *Stage)
LEFT = (None, 0.0, 0.001, 10.0)
ALIVE: tuple[frozenset[int], ...] = (frozenset(), frozenset({0}), frozenset({0, 2}))
STATES = list(itertools.product(STAGES, ALIVE, LEFT))


@pytest.mark.parametrize(("done", "alive", "left_s"), STATES)
def test_nobody_is_acted_on_but_who_is_alive(done, alive, left_s):
    actions = plan(done, alive, left_s)
    assert actions.targets == (frozenset() if actions.stage is Stage.DONE else alive)


@pytest.mark.parametrize(("done", "alive", "left_s"), STATES)
def test_a_plan_comes_to_its_end(done, alive, left_s):
    for _ in Stage:
        done = plan(done, alive, left_s).stage
    assert done is Stage.DONE


@pytest.mark.parametrize(("done", "alive", "left_s"), STATES)
def test_no_stage_waits_longer_than_what_is_left_but_for_the_kernel_to_reap(done, alive, left_s):
    actions = plan(done, alive, left_s)
    if left_s is not None and actions.stage is not Stage.KILL:
        assert actions.wait_s is not None
        assert actions.wait_s <= left_s


def test_with_nobody_alive_the_plan_is_done():
    assert {plan(done, frozenset(), 10.0).stage for done in STAGES} == {Stage.DONE}


def test_who_is_late_already_is_still_asked_first():
    assert plan(None, frozenset({0}), 0.0).stage is Stage.ASK


def test_past_the_deadline_who_was_asked_is_killed():
    assert plan(Stage.ASK, frozenset({0}), 0.0).stage is Stage.KILL


def test_without_a_deadline_nobody_is_forced():
    assert plan(None, frozenset({0}), None).wait_s is None


class HandClock:
    def __init__(self) -> None:
        self.time_s = 0.0

    def now(self) -> float:
        return self.time_s


class Scripted:
    """A worker that ends a given time after a given kind of request."""

    def __init__(self, clock: HandClock, obeys: str, after_s: float = 0.0) -> None:
        self.clock, self.obeys, self.after_s = clock, obeys, after_s
        self.told: list[str] = []
        self.ends_at: float | None = None

    def _hear(self, request: str) -> None:
        self.told.append(request)
        if request == self.obeys and self.ends_at is None:
            self.ends_at = self.clock.time_s + self.after_s

    @property
    def alive(self) -> bool:
        return self.ends_at is None or self.clock.time_s < self.ends_at

    def ask(self) -> None:
        self._hear("ask")

    def terminate(self) -> None:
        self._hear("terminate")

    def kill(self) -> None:
        self._hear("kill")

    def join(self, deadline: Deadline) -> bool:
        left = deadline.left()
        if self.alive and left is not None:
            ends_in = left if self.ends_at is None else self.ends_at - self.clock.time_s
            self.clock.time_s += min(left, ends_in)
        return not self.alive


@pytest.mark.parametrize(
    ("obeys", "told"),
    [
        ("ask", ["ask"]),
        ("terminate", ["ask", "terminate"]),
        ("kill", ["ask", "terminate", "kill"]),
        ("nothing", ["ask", "terminate", "kill"]),
    ],
)
def test_a_worker_is_told_more_only_while_it_lives(obeys, told):
    clock = HandClock()
    worker = Scripted(clock, obeys)
    left = stop([worker], Deadline.after(10.0, clock))
    assert (worker.told, left) == (told, frozenset({0} if obeys == "nothing" else ()))


def test_all_together_end_by_the_one_deadline():
    clock = HandClock()
    workers = [Scripted(clock, obeys) for obeys in ("nothing", "kill", "ask", "nothing")]
    assert stop(workers, Deadline.after(10.0, clock)) == {0, 3}
    assert clock.time_s == pytest.approx(10.0)


def test_a_slow_worker_does_not_hold_up_asking_the_others():
    clock = HandClock()
    workers = [Scripted(clock, "ask", after_s=4.0) for _ in range(3)]
    assert stop(workers, Deadline.after(10.0, clock)) == frozenset()
    assert clock.time_s == pytest.approx(4.0)


def test_nobody_to_end_takes_no_time():
    clock = HandClock()
    assert (stop([], Deadline.after(10.0, clock)), clock.time_s) == (frozenset(), 0.0)
