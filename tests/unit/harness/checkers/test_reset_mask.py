"""Masked envs restart, and the others do not move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checkers.reset_mask import CHECKER
from tests.unit.harness.checkers.histories import HonestPool, spoilt, texts, with_event

LEFT_OUT = "reset_where (request 8)"


def stepped(n: int = 1, **more) -> HonestPool:
    pool = HonestPool(**more)
    pool.reset()
    for _ in range(n):
        pool.step()
    return pool


def moved(pool: HonestPool, env: int) -> None:
    """A reset of env 0 alone, in which another one is reset as well."""
    invoked = pool.recorder.invoke("reset_where", mask=[True, False])
    shown = list(pool.shown[env])
    rows = [pool.reset_one(0), {**pool.reset_one(env), "obs": shown}]
    pool.recorder.ok(invoked, rows=rows)


def test_a_partial_reset_that_is_one_passes():
    pool = stepped()
    pool.reset_where([True, False])
    pool.step()
    judgement = CHECKER.check(pool.history())
    assert texts(judgement) == []
    assert judgement.judged == 1


def test_a_history_without_a_partial_reset_is_no_evidence():
    assert CHECKER.check(stepped().history()).judged == 0


def test_a_partial_reset_that_never_ended_is_no_evidence():
    pool = stepped()
    pool.recorder.invoke("reset_where", mask=[True, False])
    assert CHECKER.check(pool.history()).judged == 0


def test_a_partial_reset_that_failed_without_moving_others_passes():
    pool = stepped()
    invoked = pool.recorder.invoke("reset_where", mask=[True, False])
    pool.reset_one(0)
    pool.recorder.fail(invoked)
    pool.step()
    judgement = CHECKER.check(pool.history())
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_a_partial_reset_that_failed_and_moved_others_is_found():
    pool = stepped()
    invoked = pool.recorder.invoke("reset_where", mask=[True, False])
    pool.reset_one(1)
    pool.recorder.fail(invoked)
    assert texts(CHECKER.check(pool.history())) == [
        f"env 1 was reset during {LEFT_OUT}, whose mask leaves it out"
    ]


@given(
    st.sampled_from(["same_step", "next_step"]),
    st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=12),
)
def test_whatever_a_correct_pool_resets_passes(autoreset, masks):
    pool = stepped(num_envs=3, horizon=2, autoreset=autoreset)
    for mask in masks:
        pool.reset_where(mask)
        pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_an_env_that_is_reset_although_it_is_left_out_is_found_by_its_own_counters():
    pool = stepped()
    moved(pool, 1)
    (finding,) = CHECKER.check(pool.history()).findings
    assert finding.text == f"env 1 was reset during {LEFT_OUT}, whose mask leaves it out"
    assert finding.events == (8, 11, 10)  # the call, and what env 1 itself saw


def test_an_env_that_is_reset_although_it_is_left_out_is_found_by_its_next_step():
    pool = stepped()
    pool.reset_where([True, False])
    pool.envs[1].reset()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == [
        f"{LEFT_OUT} leaves env 1 out, and its next step led to step 1 of episode 2, not to step 2 "
        "of episode 1"
    ]


def test_a_row_that_shows_a_left_out_env_elsewhere_is_found():
    pool = stepped()
    pool.reset_where([True, False])
    history = spoilt(
        pool.history(), "reset_where", 0, lambda rows: rows[1].update(obs=pool.envs[1].reset())
    )
    assert texts(CHECKER.check(history)) == [
        f"{LEFT_OUT} leaves env 1 out, and shows it at step 0 of episode 2 instead of its last "
        "observation, step 1 of episode 1"
    ]


def test_a_masked_env_that_does_not_restart_is_found():
    pool = stepped()
    shown = list(pool.shown[0])
    pool.reset_where([True, False])
    history = spoilt(pool.history(), "reset_where", 0, lambda rows: rows[0].update(obs=shown))
    assert texts(CHECKER.check(history)) == [
        f"env 0 was asked to reset by {LEFT_OUT}, and is at step 1 of episode 1 after step 1 of "
        "episode 1"
    ]


def test_a_masked_env_that_restarts_and_has_no_row_is_found():
    pool = stepped()
    pool.reset_where([True, False])
    history = spoilt(pool.history(), "reset_where", 0, lambda rows: rows.clear())
    assert texts(CHECKER.check(history)) == [
        f"{LEFT_OUT} has no row of env 0, which it was asked to reset"
    ]


def test_a_masked_env_whose_row_cannot_be_read_counts_by_its_own_counters():
    pool = stepped()
    pool.reset_where([True, False])
    history = spoilt(pool.history(), "reset_where", 0, lambda rows: rows[0].update(obs="torn"))
    assert texts(CHECKER.check(history)) == []


def test_a_masked_env_that_nobody_saw_resetting_is_found():
    pool = stepped()
    pool.recorder.call("reset_where", mask=[True, False], rows=[])
    assert texts(CHECKER.check(pool.history())) == [
        f"env 0 was asked to reset by {LEFT_OUT}, and did not"
    ]


def test_a_mask_that_was_changed_is_found():
    pool = stepped()
    done = pool.reset_where([True, False])
    history = with_event(pool.history(), done.seq, data={**done.data, "mask_after": [True, True]})
    assert texts(CHECKER.check(history)) == [
        f"{LEFT_OUT} changed the caller's mask from [True, False] to [True, True]"
    ]


@pytest.mark.parametrize("received", [True, False])
def test_a_left_out_env_with_a_step_under_way_may_end_its_episode(received):
    pool = stepped(horizon=1)
    invoked = pool.recorder.invoke("send", actions=[7, 8])
    pool.recorder.ok(invoked)
    if received:
        pool.queues = [[pool.step_one(0, 7)], [pool.step_one(1, 8)]]
        pool.recv()
    moved(pool, 1)
    found = [text for text in texts(CHECKER.check(pool.history())) if "was reset during" in text]
    assert bool(found) is received


def test_an_env_of_which_nothing_is_known_is_not_judged_by_its_own_counters():
    pool = stepped()
    pool.recorder.failing("reset")
    invoked = pool.recorder.invoke("reset_where", mask=[True, False])
    pool.reset_one(1)
    pool.recorder.ok(invoked, rows=[pool.reset_one(0)])
    assert texts(CHECKER.check(pool.history())) == []


def test_an_env_that_begins_no_new_episode_is_found():
    pool = stepped()
    before = pool.envs[0].episode
    pool.envs[0].episode -= 1
    pool.reset_where([True, False])
    assert pool.envs[0].episode == before
    assert (
        "is at step 0 of episode 1 after step 1 of episode 1"
        in texts(CHECKER.check(pool.history()))[0]
    )


def test_a_row_of_another_env_says_nothing_of_how_this_one_went_on():
    pool = stepped()
    pool.reset_where([True, False])
    pool.step()
    history = spoilt(pool.history(), "step", 1, lambda rows: rows[1].update(obs=rows[0]["obs"]))
    assert texts(CHECKER.check(history)) == []


def test_a_reset_of_all_is_not_judged():
    pool = stepped()
    pool.reset()
    history = spoilt(pool.history(), "reset", 1, lambda rows: rows.clear())
    assert texts(CHECKER.check(history)) == []
