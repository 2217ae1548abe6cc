"""What was changed is as what was built so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.checkers.as_freshly_built import CHECKER
from tests.unit.harness.checkers.histories import texts
from tests.unit.harness.checkers.params_histories import LevelledPool


def both(spoil=None, *, level: int = 2):
    pool = LevelledPool()
    pool.normal = 0.5
    pool.reset()
    pool.step()
    pool.set_params(2)
    pool.reset()
    pool.step()
    if spoil is not None:
        spoil(pool.recorder.events[-1].data["rows"][1])
    pool.build_anew(level)
    pool.reset()
    pool.step()
    return pool


def test_equal_data_pass():
    judgement = CHECKER.check(both().history())
    assert (texts(judgement), judgement.judged) == ([], 4)


@pytest.mark.parametrize(
    ("key", "value"),
    [("reward", 1.0), ("terminated", True), ("truncated", True), ("normal", 0.6), ("normal", None)],
)
def test_data_that_differ_are_found(key, value):
    [text] = texts(CHECKER.check(both(lambda row: row.update({key: value})).history()))
    assert text.startswith("env 1 in step (request 16): ")
    assert f"{key} is {value}, not " in text


def test_a_pool_that_was_built_otherwise_is_no_evidence():
    assert CHECKER.check(both(level=3).history()).judged == 0


def test_where_some_envs_were_changed_there_is_no_level_to_compare_at():
    pool = LevelledPool()
    pool.reset()
    pool.set_params(2, 1)
    pool.reset()
    pool.step()
    pool.build_anew(2)
    pool.reset()
    pool.step()
    assert CHECKER.check(pool.history()).judged == 0


def test_the_next_pool_is_built_as_the_one_before_it():
    pool = both(level=3)
    pool.recorder.call("rebuild")
    pool.reset()
    pool.step()
    pool.set_params(0)
    pool.reset()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


@pytest.mark.parametrize("apart", ["reset_where", "rollout", "failed"])
def test_nothing_is_compared_once_envs_go_ways_of_their_own(apart):
    pool = LevelledPool()
    pool.reset()
    pool.set_params(2)
    pool.reset()
    if apart == "failed":
        pool.recorder.failing("step")
    else:
        pool.recorder.call(apart)
    pool.step()
    pool.build_anew(2)
    pool.reset()
    pool.step()
    assert CHECKER.check(pool.history()).judged == 2  # what the resets show


def test_it_applies_where_there_is_something_to_compare():
    assert CHECKER.applies(both().history())
    pool = LevelledPool()
    pool.reset()
    pool.set_params(2)
    assert not CHECKER.applies(pool.history())


def test_it_does_not_apply_where_nothing_was_built_as_it_was_changed():
    assert not CHECKER.applies(both(level=3).history())
    pool = LevelledPool()
    pool.set_params(2)
    pool.build_anew(2)
    pool.reset()
    assert not CHECKER.applies(pool.history())


@pytest.mark.parametrize(("other", "found"), [({"truncated": True}, 0), ({}, 1)])
def test_where_episodes_end_by_turns_only_that_they_end_is_compared(other, found):
    pool = both(lambda row: row.update(terminated=True))
    pool.recorder.events[-1].data["rows"][1].update(other)
    history = pool.history()
    turned = replace(history, setup={**history.setup, "ends": "by_turns"})
    assert len(texts(CHECKER.check(turned))) == found
    assert len(texts(CHECKER.check(history))) == 1
