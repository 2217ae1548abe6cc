"""New parameters reach the workers that there are."""

from __future__ import annotations

from harness.checkers.same_workers import CHECKER
from tests.unit.harness.checkers.histories import PID, texts
from tests.unit.harness.checkers.params_histories import LevelledPool


def changed(**more):
    pool = LevelledPool()
    pool.reset()
    pool.set_params(2, **more)
    pool.step()
    return pool


def test_workers_that_stay_pass():
    judgement = CHECKER.check(changed().history())
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_a_worker_that_is_another_process_is_found():
    judgement = CHECKER.check(changed(pids=[PID, PID + 1]).history())
    assert texts(judgement) == [
        "after set_params (request 6) envs [1] live in other processes than before"
    ]


def test_an_env_that_shows_another_process_is_found_where_workers_are_not_told():
    pool = changed(pids=[])
    pool.recorder.events[-1].data["rows"][0]["obs"][2] += 1
    assert "envs [0]" in texts(CHECKER.check(pool.history()))[0]


def test_a_pool_that_is_built_anew_may_have_others():
    pool = changed()
    pool.build_anew(2)
    pool.reset()
    pool.recorder.events[-1].data["rows"][0]["obs"][2] += 1
    assert texts(CHECKER.check(pool.history())) == []


def test_it_applies_where_a_change_went_well_and_no_fault_strikes():
    pool = changed()
    assert CHECKER.applies(pool.history())
    assert not CHECKER.applies(pool.recorder.history(faults=[("kill", "killed")]))
    failed = LevelledPool()
    failed.recorder.failing("set_params", envs=[0], level=1, when="now")
    failed.reset()
    assert not CHECKER.applies(failed.history())
