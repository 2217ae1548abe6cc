"""A step of an env that was lost is cut off where it started, if workers are replaced."""

from __future__ import annotations

import pytest

from harness.checkers.episode_model import CHECKER
from harness.model import probe
from tests.unit.harness.checkers.histories import PID, HonestPool, texts


def lost_in_a_step(restarts="restart", **spoilt):
    """Env 1 is lost in its second step, which is cut off, and a new one begins."""
    pool = HonestPool()
    pool.reset()
    pool.step()
    before = list(pool.shown[1])
    pool.step()
    row = pool.recorder.events[-1].data["rows"][1]
    pool.envs[1].episode = 0
    first = pool.envs[1].reset()
    row.update(obs=first, final=before, reward=0.0, terminated=False, truncated=True)
    row.update(spoilt)
    pool.shown[1] = first
    pool.step()
    return CHECKER.check(pool.recorder.history(setup={"on_worker_failure": restarts}))


def test_a_step_that_was_cut_off_where_it_started_passes_where_workers_are_replaced():
    assert texts(lost_in_a_step()) == []


def test_elsewhere_no_step_is_cut_off():
    assert texts(lost_in_a_step("raise")) != []


@pytest.mark.parametrize("spoilt", [{"truncated": False}, {"obs": None}, {"reward": 1.125}])
def test_a_step_that_was_cut_off_and_does_not_say_so_is_found(spoilt):
    assert texts(lost_in_a_step(**spoilt)) != []


def test_a_step_that_was_cut_off_somewhere_else_is_found():
    elsewhere = [
        float(each)
        for each in probe.encode(env_index=1, incarnation=PID, episode=1, step=2, action=5)
    ]
    assert "it was cut off at step 1 of episode 1" in texts(lost_in_a_step(final=elsewhere))[0]
