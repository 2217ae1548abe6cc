"""Every field of every transition equals the model of the probe env."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checkers.episode_model import CHECKER
from harness.model import probe
from tests.unit.harness.checkers.histories import HonestPool, spoilt, texts

AUTORESETS = ["same_step", "next_step"]


def stepped(n: int = 1, *, horizon: int = 4, autoreset: str = "same_step") -> HonestPool:
    pool = HonestPool(horizon=horizon, autoreset=autoreset)
    pool.reset()
    for _ in range(n):
        pool.step()
    return pool


def found_after(pool: HonestPool, op: str, n: int, **changes) -> list[str]:
    """What is found if row 0 of the n-th `op` were different."""
    history = spoilt(pool.history(), op, n, lambda rows: rows[0].update(changes))
    return texts(CHECKER.check(history))


def seen(*, episode: int, step: int, action: int, env: int = 0, pid: int = 4_000) -> list[float]:
    entries = probe.encode(
        env_index=env, incarnation=pid, episode=episode, step=step, action=action
    )
    return [float(entry) for entry in entries]


@pytest.mark.parametrize("autoreset", AUTORESETS)
def test_episodes_as_the_model_has_them_pass(autoreset):
    judgement = CHECKER.check(stepped(13, autoreset=autoreset).history())
    assert texts(judgement) == []
    assert judgement.judged == 2 * 14


def test_a_history_without_rows_is_no_evidence():
    pool = HonestPool()
    pool.recorder.call("shutdown")
    assert CHECKER.check(pool.history()).judged == 0


@given(st.sampled_from(AUTORESETS), st.data())
def test_whatever_a_correct_pool_does_passes(autoreset, data):
    pool = HonestPool(num_envs=3, horizon=2, autoreset=autoreset)
    pool.reset()
    for _ in range(data.draw(st.integers(1, 15))):
        match data.draw(st.sampled_from(["step", "reset", "where", "async", "fail"])):
            case "step":
                pool.step()
            case "reset":
                pool.reset()
            case "where":
                pool.reset_where(data.draw(st.lists(st.booleans(), min_size=3, max_size=3)))
            case "async":
                pool.send()
                pool.send()
                pool.recv([2, 0, 1])
                pool.recv()
            case _:
                pool.step_one(1, 7)
                pool.recorder.failing("step", actions=pool.actions())
    assert texts(CHECKER.check(pool.history())) == []


@given(st.sampled_from(AUTORESETS), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_whatever_a_correct_collector_gathers_passes(autoreset, frames):
    pool = stepped(0, horizon=2, autoreset=autoreset)
    for each in frames:
        pool.rollout(each)
    judgement = CHECKER.check(pool.history())
    assert texts(judgement) == []
    assert judgement.judged == 2 + 2 * sum(frames)


def test_a_torn_observation_is_found():
    pool = stepped()
    history = spoilt(pool.history(), "step", 0, lambda rows: rows[0]["obs"].__setitem__(7, 0.0))
    assert texts(CHECKER.check(history)) == [
        "env 0 in step (request 4): the observation is not whole: stamps 1001 and 0 around step 1 "
        f"of episode 1, checksum {probe.checksum(0, 4_000, 1, 1, 100)}"
    ]


def test_an_observation_of_the_wrong_width_is_found():
    assert "has 8 entries, got 2" in found_after(stepped(), "step", 0, obs=[1.0, 2.0])[0]


def test_a_reward_of_another_step_is_found():
    assert found_after(stepped(), "step", 0, reward=2.0) == [
        "env 0 in step (request 4): reward is 2.0, not 1.0"
    ]


def test_a_missing_reward_is_found():
    assert "reward is None" in found_after(stepped(), "step", 0, reward=None)[0]


def test_an_episode_that_ends_too_early_is_found():
    pool = stepped(autoreset="next_step")
    assert found_after(pool, "step", 0, truncated=True)[0].endswith("truncated is True, not False")


def test_an_episode_that_does_not_end_is_found():
    pool = stepped(4, autoreset="next_step")
    assert found_after(pool, "step", 3, terminated=False)[0].endswith(
        "terminated is False, not True"
    )


def test_an_episode_that_ends_in_the_wrong_way_is_found():
    found = found_after(stepped(4), "step", 3, terminated=False, truncated=True)
    assert "terminated is False, not True; truncated is True, not False" in found[0]


def test_a_missing_final_observation_is_found():
    found = found_after(stepped(4), "step", 3, final=None)
    assert found[0].endswith("the episode ended, and its final observation is missing")


def test_a_final_observation_in_place_of_the_first_one_is_found():
    pool = stepped(4)
    history = spoilt(pool.history(), "step", 3, lambda rows: rows[0].update(obs=rows[0]["final"]))
    assert (
        "first observation of the next episode: step is 4, not 0"
        in texts(CHECKER.check(history))[0]
    )


def test_an_episode_that_is_left_out_by_autoreset_is_found():
    pool = stepped(4)
    found = found_after(pool, "step", 3, obs=seen(episode=3, step=0, action=-1))
    assert "first observation of the next episode: episode is 3, not 2" in found[0]


def test_an_env_that_steps_on_where_it_has_to_reset_is_found():
    pool = stepped(5, autoreset="next_step")
    found = found_after(pool, "step", 4, obs=seen(episode=1, step=5, action=108), reward=5.0)
    assert "step is 5, not 0" in found[0]


def test_a_step_that_is_left_out_is_found():
    pool = stepped()
    pool.envs[0].step(1)
    pool.step()
    assert texts(CHECKER.check(pool.history())) == ["env 0 in step (request 8): step is 3, not 2"]


def test_an_env_that_restarts_unasked_is_found():
    pool = stepped(2)
    pool.envs[0].reset()
    pool.step()
    assert "episode is 2, not 1; step is 1, not 3" in texts(CHECKER.check(pool.history()))[0]


def test_a_worker_that_was_replaced_unasked_is_found():
    pool = stepped()
    found = found_after(pool, "step", 0, obs=seen(episode=1, step=1, action=100, pid=5_000))
    assert "incarnation is 5000, not 4000" in found[0]


def test_a_step_answered_with_a_reset_after_a_failure_is_found():
    pool = stepped()
    pool.recorder.failing("step", actions=pool.actions())
    pool.step()
    found = found_after(pool, "step", 1, obs=seen(episode=2, step=0, action=-1))
    assert "a step was answered with the observation of a reset" in found[0]


def test_a_step_beyond_the_end_after_a_failure_is_found():
    pool = stepped()
    pool.recorder.failing("step", actions=pool.actions())
    pool.step()
    found = found_after(pool, "step", 1, obs=seen(episode=1, step=9, action=104), reward=9.0)
    assert "step 9 is beyond the episode's end" in found[0]


def test_a_reset_that_does_not_begin_at_step_0_is_found():
    assert (
        "step is 1, not 0"
        in found_after(stepped(0), "reset", 0, obs=seen(episode=1, step=1, action=-1))[0]
    )


def test_a_reset_that_begins_no_new_episode_is_found():
    pool = stepped(2)
    pool.reset()
    found = found_after(pool, "reset", 1, obs=seen(episode=1, step=0, action=-1))
    assert "episode is 1 after episode 1: no new one" in found[0]


def test_a_reset_that_leaves_an_env_out_is_found():
    pool = stepped(0)
    history = spoilt(pool.history(), "reset", 0, lambda rows: rows.pop())
    assert texts(CHECKER.check(history)) == ["env 1 in reset (request 0): no row answers the reset"]


def test_a_reset_without_observation_is_found():
    assert "the observation is missing" in found_after(stepped(0), "reset", 0, obs=None)[0]


def test_a_new_pool_begins_anew():
    pool = stepped(2)
    pool.recorder.call("replace")
    fresh = HonestPool()
    pool.envs, pool.shown = fresh.envs, fresh.shown
    pool.reset()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_an_answer_that_was_under_way_during_a_reset_is_judged_alone():
    pool = stepped(1)
    pool.send()
    pool.reset()
    pool.recv()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_nothing_is_known_while_an_operation_stays_open():
    pool = stepped(1)
    pool.recorder.invoke("reset")
    pool.envs[0].reset()
    pool.step()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_row_of_another_env_is_left_to_another_checker():
    pool = stepped()
    found = found_after(pool, "step", 0, obs=seen(episode=1, step=1, action=101, env=1))
    assert found == []


def test_a_collected_transition_that_does_not_join_is_found():
    pool = stepped(0)
    pool.rollout(3)
    history = spoilt(pool.history(), "rollout", 0, lambda rows: rows.pop(2))
    assert texts(CHECKER.check(history)) == [
        "env 0 in rollout (request 4): starts at step 2 of episode 1, and the transition before it "
        "led to step 1 of episode 1"
    ]


def test_a_collected_episode_that_is_not_the_next_is_found():
    pool = stepped(0, horizon=1)
    pool.rollout(3)
    history = spoilt(pool.history(), "rollout", 0, lambda rows: rows.pop(2))
    assert (
        "first observation of the next episode: episode is 3, not 2"
        in texts(CHECKER.check(history))[0]
    )


def test_a_collected_transition_without_its_end_is_found():
    pool = stepped(0)
    pool.rollout(1)
    assert "an observation is missing" in found_after(pool, "rollout", 0, final=None)[0]


def test_a_batch_that_repeats_the_one_before_is_found():
    pool = stepped(0)
    first = pool.rollout(2)
    pool.recorder.ok(pool.recorder.invoke("rollout", frames=2), rows=first.data["rows"])
    assert "starts before the end of the batch before it" in texts(CHECKER.check(pool.history()))[0]


def test_a_batch_may_start_anywhere_later():
    pool = stepped(0)
    pool.rollout(1)
    pool.step_one(0, 1)
    pool.rollout(1)
    assert texts(CHECKER.check(pool.history())) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"reward": 9.0}, "reward is 9.0, not 1.0"),
        ({"terminated": True}, "terminated is True, not False"),
        ({"truncated": True}, "truncated is True, not False"),
        ({"final": seen(episode=1, step=2, action=100)}, "step is 2, not 1"),
        ({"obs": None}, "an observation is missing"),
        ({"obs": [0.0]}, "has 8 entries, got 1"),
        ({"final": [7.0, *seen(episode=1, step=1, action=100)[1:]]}, "is not whole"),
    ],
)
def test_a_collected_transition_is_judged_in_every_field(changes, text):
    pool = stepped(0)
    pool.rollout(1)
    assert text in found_after(pool, "rollout", 0, **changes)[0]


def test_a_collected_reset_in_place_of_a_step_is_judged():
    pool = stepped(0, horizon=1, autoreset="next_step")
    pool.rollout(2)
    history = spoilt(pool.history(), "rollout", 0, lambda rows: rows[2].update(reward=5.0))
    assert "reward is 5.0, not 0.0" in texts(CHECKER.check(history))[0]


@pytest.mark.parametrize("flag", ["terminated", "truncated"])
def test_a_reset_in_place_of_a_step_ends_nothing(flag):
    pool = stepped(5, autoreset="next_step")
    found = found_after(pool, "step", 4, **{flag: True})
    assert found[0].endswith(f"{flag} is True, not False")


def test_a_reset_that_shows_an_action_is_found():
    found = found_after(stepped(0), "reset", 0, obs=seen(episode=1, step=0, action=3))
    assert "action is 3, not -1" in found[0]


def test_a_missing_first_observation_of_the_next_episode_is_found():
    found = found_after(stepped(4), "step", 3, obs=None)
    assert found[0].endswith("the first observation of the next episode is missing")


def test_a_worker_that_was_replaced_between_two_episodes_is_found():
    found = found_after(stepped(4), "step", 3, obs=seen(episode=2, step=0, action=-1, pid=5_000))
    assert "incarnation is 5000, not 4000" in found[0]


def test_a_reset_may_find_a_worker_that_was_replaced():
    pool = stepped(2)
    pool.reset()
    found = found_after(pool, "reset", 1, obs=seen(episode=1, step=0, action=-1, pid=5_000))
    assert found == []


def test_a_row_of_another_env_tells_nothing_of_where_this_one_is():
    pool = stepped(2)
    wrong = seen(episode=1, step=1, action=100, env=1)
    history = spoilt(pool.history(), "step", 0, lambda rows: rows[0].update(obs=wrong))
    assert texts(CHECKER.check(history)) == []


def test_a_failed_rollout_is_not_judged():
    pool = stepped(0)
    pool.recorder.failing("rollout", frames=2)
    assert texts(CHECKER.check(pool.history())) == []


def test_a_first_observation_that_shows_an_action_is_found():
    found = found_after(stepped(4), "step", 3, obs=seen(episode=2, step=0, action=3))
    assert "first observation of the next episode: action is 3, not -1" in found[0]


def test_a_batch_of_a_new_worker_may_count_from_the_start():
    pool = stepped(0)
    pool.rollout(2)
    pool.rollout(1)
    start = seen(episode=1, step=0, action=-1, pid=5_000)
    end = seen(episode=1, step=1, action=104, pid=5_000)
    found = found_after(pool, "rollout", 1, obs=start, final=end, reward=1.0)
    assert found == []


def test_the_envs_of_the_next_pool_count_from_their_own_beginning():
    first, second = stepped(0), stepped(0)
    first.rollout(6)
    first.recorder.call("replace")
    rows = second.rollout(2).data["rows"]
    first.recorder.ok(first.recorder.invoke("rollout", frames=2), rows=rows)
    assert texts(CHECKER.check(first.history())) == []


@pytest.mark.parametrize("ends", ["truncated", "both", "by_turns"])
def test_how_episodes_end_is_judged_by_what_the_setup_says(ends):
    pool = HonestPool(num_envs=1, horizon=2)
    pool.reset()
    for _ in range(2):
        pool.step()
    history = pool.history()
    (only,) = texts(CHECKER.check(replace(history, setup={**history.setup, "ends": ends})))
    terminated, truncated = probe.ending(ends, 0, 1)
    assert ("terminated is True" in only, "truncated is False" in only) == (
        not terminated,
        truncated,
    )


def test_an_observation_that_could_not_be_read_is_told_as_why():
    assert found_after(stepped(1), "step", 0, obs="inner is missing") == [
        "env 0 in step (request 4): inner is missing"
    ]
