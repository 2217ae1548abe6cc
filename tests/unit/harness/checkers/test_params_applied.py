"""Every transition and every read shows the parameters in force."""

from __future__ import annotations

import pytest

from harness.checkers.params_applied import CHECKER
from tests.unit.harness.checkers.histories import texts
from tests.unit.harness.checkers.params_histories import LevelledPool


@pytest.fixture
def pool():
    made = LevelledPool()
    made.reset()
    made.step()
    return made


def test_a_change_that_all_envs_show_passes(pool):
    pool.set_params(2)
    pool.step()
    pool.recorder.ok(pool.recorder.invoke("read_params"), levels=[2, 2])
    judgement = CHECKER.check(pool.history())
    assert (texts(judgement), judgement.judged) == ([], 6)


def test_a_history_without_steps_is_no_evidence():
    made = LevelledPool()
    made.set_params(2)
    assert CHECKER.check(made.history()).judged == 0


def test_an_env_that_keeps_its_level_is_found(pool):
    pool.set_params(2)
    pool.levels[1] = 0
    pool.step()
    assert texts(CHECKER.check(pool.history())) == [
        "env 1 in step (request 12) shows level 0, and level 2 is in force after set_params (request 10)"
    ]


def test_an_env_that_was_not_named_and_changes_is_found(pool):
    pool.set_params(2, 0)
    pool.levels[1] = 2
    pool.step()
    assert "env 1 in step" in texts(CHECKER.check(pool.history()))[0]


def test_a_read_that_says_something_else_is_found(pool):
    pool.set_params(2)
    pool.recorder.ok(pool.recorder.invoke("read_params"), levels=[2, 1])
    assert "env 1 in read_params" in texts(CHECKER.check(pool.history()))[0]


def test_what_waits_for_a_reset_must_not_show_before_it(pool):
    pool.set_params(2, when="reset")
    pool.levels = [2, 2]
    pool.step()
    assert len(texts(CHECKER.check(pool.history()))) == 2


def test_what_waits_for_a_reset_shows_after_it(pool):
    pool.set_params(2, when="reset")
    pool.step()
    pool.levels = [2, 2]
    pool.reset()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_what_waited_for_a_reset_and_never_shows_is_found(pool):
    pool.set_params(2, when="reset")
    pool.reset()
    pool.step()
    assert len(texts(CHECKER.check(pool.history()))) == 2


def test_what_waits_is_in_force_after_the_end_of_an_episode(pool):
    pool.set_params(2, when="reset")
    for _ in range(3):
        pool.step()
    pool.levels[0] = 2  # its episode has ended, the other one's has not
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_step_in_flight_ends_under_what_it_began_with(pool):
    pool.send()
    pool.set_params(2)
    pool.recv()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_step_in_flight_that_shows_the_new_level_is_found(pool):
    pool.levels = [2, 2]
    pool.send()
    pool.levels = [0, 0]
    pool.set_params(2)
    pool.recv()
    assert len(texts(CHECKER.check(pool.history()))) == 2


@pytest.mark.parametrize(("shown", "found"), [([0, 2], 0), ([0, 0], 0), ([2, 2], 1)])
def test_who_refuses_keeps_its_level_and_of_the_others_nobody_can_tell(pool, shown, found):
    said = {"level": 2, "envs": [0, 1], "when": "now", "reinit": False, "refused_by": 0}
    pool.recorder.fail(pool.recorder.invoke("set_params", **said))
    pool.levels = shown
    pool.step()
    assert len(texts(CHECKER.check(pool.history()))) == found


def test_what_an_env_showed_after_a_change_that_failed_stays(pool):
    said = {"level": 2, "envs": [1], "when": "now", "reinit": False, "refused_by": 0}
    pool.recorder.fail(pool.recorder.invoke("set_params", **said))
    pool.levels = [0, 2]
    pool.step()
    pool.levels = [0, 0]
    pool.step()
    assert len(texts(CHECKER.check(pool.history()))) == 1


def test_the_next_pool_begins_with_what_it_was_built_with(pool):
    pool.set_params(2)
    pool.build_anew(3)
    pool.reset()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_it_applies_where_something_shows_what_was_changed():
    pool = LevelledPool()
    pool.reset()
    pool.set_params(2)
    assert not CHECKER.applies(pool.history())
    pool.step()
    assert CHECKER.applies(pool.history())
