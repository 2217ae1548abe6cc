"""Statistics are those of the parameters in force."""

from __future__ import annotations

from harness.checkers.transforms_reinitialised import CHECKER
from tests.unit.harness.checkers.histories import texts
from tests.unit.harness.checkers.params_histories import LevelledPool


def changed(normal, *, reinit: bool = True):
    pool = LevelledPool()
    pool.reset()
    pool.set_params(60, reinit=reinit)
    pool.normal = normal
    pool.step()
    return pool


def test_a_level_near_the_mean_passes():
    judgement = CHECKER.check(changed(-1.5).history())
    assert (texts(judgement), judgement.judged) == ([], 2)


def test_a_level_far_from_the_mean_is_found_in_each_env():
    found = texts(CHECKER.check(changed(200.0).history()))
    assert len(found) == 2
    assert found[0].startswith(
        "env 0 in step (request 8) shows its level as 200 spreads from the mean"
    )


def test_a_level_that_is_not_a_number_is_found():
    assert len(texts(CHECKER.check(changed(float("nan")).history()))) == 2


def test_envs_whose_statistics_were_not_to_be_made_anew_are_no_evidence():
    assert CHECKER.check(changed(200.0, reinit=False).history()).judged == 0


def test_it_applies_where_statistics_were_to_be_made_anew():
    assert CHECKER.applies(changed(0.0).history())
    assert not CHECKER.applies(changed(0.0, reinit=False).history())
