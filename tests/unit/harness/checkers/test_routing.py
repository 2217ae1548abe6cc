"""Every request is answered once, by the env that was asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checkers.routing import CHECKER
from harness.model.history import Kind
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import (
    HonestPool,
    contracts,
    sent_twice,
    spoilt,
    texts,
    with_event,
)


def swapped(rows) -> None:
    rows[0]["obs"], rows[1]["obs"] = rows[1]["obs"], rows[0]["obs"]


def test_answers_by_the_envs_that_were_asked_pass():
    pool = HonestPool()
    pool.reset()
    for _ in range(12):
        pool.step()
    judgement = CHECKER.check(pool.history())
    assert judgement.findings == ()
    assert judgement.judged == 2 * 24  # as answered, and as the envs saw it


def test_a_history_without_answers_is_no_evidence():
    pool = HonestPool()
    pool.reset()
    assert CHECKER.check(pool.history()).judged == 0


@given(st.sampled_from(["same_step", "next_step"]), st.data())
def test_answers_in_whatever_order_of_envs_pass(autoreset, data):
    pool = HonestPool(num_envs=3, horizon=2, autoreset=autoreset)
    pool.reset()
    for _ in range(data.draw(st.integers(1, 12))):
        ready = [env for env, queue in enumerate(pool.queues) if queue]
        if ready and data.draw(st.booleans()):
            envs = data.draw(st.lists(st.sampled_from(ready), unique=True, min_size=1))
            pool.recv(envs)
        else:
            pool.send()
    assert texts(CHECKER.check(pool.history())) == []


def test_an_observation_of_another_env_is_found():
    pool = HonestPool()
    pool.reset()
    pool.step()
    judgement = CHECKER.check(spoilt(pool.history(), "step", 0, swapped))
    assert texts(judgement)[0] == "row of env 0 in step (request 4): its observation is env 1's"
    assert set(contracts(judgement)) == {Contract.EQUIVALENCE}


def test_a_first_observation_of_another_env_is_found():
    pool = HonestPool(horizon=1)
    pool.reset()
    pool.step()
    history = spoilt(pool.history(), "step", 0, lambda rows: rows[0].update(obs=rows[1]["obs"]))
    assert "its observation is env 1's" in texts(CHECKER.check(history))[0]


def test_an_answer_to_another_envs_request_is_found():
    pool = HonestPool()
    pool.reset()
    invoked = pool.recorder.invoke("step", actions=[100, 101])
    rows = [pool.step_one(0, 101), pool.step_one(1, 101)]
    pool.recorder.ok(invoked, rows=rows)
    found = texts(CHECKER.check(pool.history()))
    assert "it answers request 101, which was sent to env 1" in found[0]
    assert "worker:0 stepped with it" in found[1]


def test_an_answer_to_a_request_that_nobody_made_is_found():
    pool = HonestPool()
    pool.reset()
    invoked = pool.recorder.invoke("step", actions=[100, 101])
    pool.recorder.ok(invoked, rows=[pool.step_one(0, 7), pool.step_one(1, 101)])
    assert "it answers request 7, which was never sent" in texts(CHECKER.check(pool.history()))[0]


def test_a_request_that_is_answered_twice_is_found():
    pool = sent_twice()
    again = dict(pool.queues[0][0])
    pool.recv()
    pool.queues[0].insert(0, again)
    pool.recv([0])
    assert texts(CHECKER.check(pool.history()))[0].endswith(
        "it answers request 100, as recv (request 12) did"
    )


def test_answers_out_of_order_are_found():
    pool = sent_twice()
    pool.queues[1].reverse()
    pool.recv()
    assert "it answers request 103 before 101" in texts(CHECKER.check(pool.history()))[0]


def test_an_answer_lost_after_a_timeout_is_found():
    pool = sent_twice()
    invoked = pool.recorder.invoke("recv", timeout_s=0.1, min_get=2)
    pool.recorder.fail(invoked, error="TimeoutError", after_s=0.1)
    pool.queues[1].pop(0)
    pool.recv()
    assert "it answers request 103 before 101" in texts(CHECKER.check(pool.history()))[0]


def test_an_answer_lost_in_a_failed_call_is_excused():
    pool = sent_twice()
    pool.recorder.failing("recv", timeout_s=None, min_get=2)
    pool.queues[1].pop(0)
    pool.recv()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_late_answer_taken_for_the_next_step_is_found():
    pool = HonestPool()
    pool.reset()
    invoked = pool.recorder.invoke("step", actions=[100, 101])
    late = pool.step_one(0, 100)
    pool.recorder.fail(invoked)
    invoked = pool.recorder.invoke("step", actions=[102, 103])
    pool.recorder.ok(invoked, rows=[late, pool.step_one(1, 103)])
    assert texts(CHECKER.check(pool.history())) == [
        "row of env 0 in step (request 7): it answers request 100 of step (request 4), which "
        "failed: a late answer is taken for the next"
    ]


def test_a_late_answer_of_a_failed_step_received_later_is_found():
    pool = HonestPool()
    pool.reset()
    invoked = pool.recorder.invoke("step", actions=pool.actions())
    late = pool.step_one(0, 100)
    pool.recorder.fail(invoked)
    pool.send()
    pool.queues[0].insert(0, late)
    pool.recv()
    assert "a late answer is taken for the next" in texts(CHECKER.check(pool.history()))[0]


def test_a_step_without_a_row_for_an_env_is_found():
    pool = HonestPool()
    pool.reset()
    pool.step()
    history = spoilt(pool.history(), "step", 0, lambda rows: rows.pop())
    assert texts(CHECKER.check(history)) == ["no row of step (request 4) answers for envs [1]"]


def test_a_receive_with_too_few_results_is_found():
    pool = sent_twice()
    pool.recv()
    history = spoilt(pool.history(), "recv", 0, lambda rows: rows.pop())
    assert texts(CHECKER.check(history)) == [
        "recv (request 12) returned 1 results, and had to get 2"
    ]


def test_a_reset_taken_for_the_answer_to_a_step_is_found():
    pool = HonestPool()
    pool.reset()
    invoked = pool.recorder.invoke("step", actions=[100, 101])
    row = pool.step_one(0, 100) | pool.reset_one(0)
    pool.recorder.ok(invoked, rows=[row, pool.step_one(1, 101)])
    assert "it answers no request" in texts(CHECKER.check(pool.history()))[0]


def test_an_action_that_the_env_did_not_take_is_found():
    pool = HonestPool()
    pool.reset()
    pool.step()
    history = spoilt(pool.history(), "step", 0, lambda rows: rows[0].update(action=42.0))
    assert "the batch says action 42.0, and the env took 100" in texts(CHECKER.check(history))[0]


def test_a_request_that_an_env_takes_twice_is_found():
    pool = HonestPool()
    pool.reset()
    pool.step()
    pool.recorder.observe(0, "step", action=100)
    assert texts(CHECKER.check(pool.history())) == [
        "request 100 of step (request 4) stepped env 0 twice"
    ]


def test_a_collected_transition_with_another_envs_observation_is_found():
    pool = HonestPool()
    pool.reset()
    pool.rollout(3)
    assert texts(CHECKER.check(pool.history())) == []
    history = spoilt(pool.history(), "rollout", 0, swapped)
    assert "its observation is env 1's" in texts(CHECKER.check(history))[0]


def test_a_collected_action_that_the_env_did_not_take_is_found():
    pool = HonestPool()
    pool.reset()
    pool.rollout(3)
    history = spoilt(pool.history(), "rollout", 0, lambda rows: rows[0].update(action=42.0))
    assert "the batch says action 42.0" in texts(CHECKER.check(history))[0]


def test_what_was_under_way_in_a_replaced_pool_may_stay_unanswered():
    pool = sent_twice()
    pool.recorder.call("replace")
    pool.queues = [[], []]
    pool.reset()
    pool.send()
    pool.recv()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_torn_answer_is_left_to_another_checker():
    pool = sent_twice()
    pool.recv()
    history = spoilt(pool.history(), "recv", 0, lambda rows: rows[0]["obs"].__setitem__(7, 9.0))
    assert texts(CHECKER.check(history)) == []


def test_a_step_that_failed_still_shows_what_the_envs_saw():
    pool = HonestPool()
    pool.reset()
    pool.step()
    history = pool.history()
    done = next(e for e in history.events if e.kind is Kind.OK and e.op == "step")
    judgement = CHECKER.check(with_event(history, done.seq, kind=Kind.FAIL, data={"error": {}}))
    assert (judgement.findings, judgement.judged) == ((), 2)


def test_a_torn_answer_may_have_been_any_requests():
    pool = sent_twice()
    pool.recv()
    pool.recv()
    history = spoilt(pool.history(), "recv", 0, lambda rows: rows[0]["obs"].__setitem__(7, 9.0))
    assert texts(CHECKER.check(history)) == []


def test_a_reset_may_drop_what_was_under_way():
    pool = sent_twice()
    pool.reset()
    pool.queues = [[], []]
    pool.send()
    pool.recv()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_receive_that_never_ended_may_have_taken_what_is_missing():
    pool = sent_twice()
    pool.recorder.invoke("recv", timeout_s=None, min_get=2)
    pool.queues[0].pop(0)
    pool.recv()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_receive_need_not_get_more_than_there_is():
    pool = HonestPool()
    pool.reset()
    pool.send()
    invoked = pool.recorder.invoke("recv", timeout_s=None, min_get=5)
    pool.recorder.ok(invoked, rows=[queue.pop(0) for queue in pool.queues])
    assert texts(CHECKER.check(pool.history())) == []


def test_a_step_while_results_wait_leaves_them_to_be_received():
    pool = HonestPool()
    pool.reset()
    pool.send()
    pool.step()
    pool.recv()
    assert texts(CHECKER.check(pool.history())) == []


def test_an_env_that_resets_in_place_of_a_step_answers_that_step():
    pool = HonestPool(horizon=1, autoreset="next_step")
    pool.reset()
    for _ in range(5):
        pool.send()
    for _ in range(5):
        pool.recv()
    pool.step()
    pool.step()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_result_that_nobody_asked_for_is_found():
    pool = HonestPool(horizon=1, autoreset="next_step")
    pool.reset()
    invoked = pool.recorder.invoke("recv", timeout_s=None, min_get=0)
    pool.recorder.ok(invoked, rows=[pool.reset_one(0)])
    assert "env 0 was not asked for anything" in texts(CHECKER.check(pool.history()))[0]


def test_an_answer_of_a_replaced_pool_is_found():
    pool = sent_twice()
    pool.recorder.call("replace")
    pool.recv()
    assert "a late answer is taken for the next" in texts(CHECKER.check(pool.history()))[0]


def test_a_step_that_is_late_is_a_failed_call():
    pool = sent_twice()
    invoked = pool.recorder.invoke("step", actions=pool.actions())
    pool.recorder.fail(invoked, error="TimeoutError")
    pool.queues[1].pop(0)
    pool.recv()
    assert texts(CHECKER.check(pool.history())) == []


def test_a_step_with_two_rows_for_one_env_is_found():
    pool = HonestPool()
    pool.reset()
    pool.step()
    history = spoilt(pool.history(), "step", 0, lambda rows: rows.append(rows[0]))
    assert texts(CHECKER.check(history)) == [
        "row of env 0 in step (request 4): it answers request 100, as step (request 4) did"
    ]


def test_a_reset_received_for_an_answer_is_found_once():
    pool = sent_twice()
    pool.queues[0][0] |= pool.reset_one(0)
    pool.recv()
    pool.recv()
    (text,) = texts(CHECKER.check(pool.history()))
    assert "it answers no request" in text


@pytest.mark.parametrize(("restarts", "found"), [("restart", 0), ("raise", 1)])
def test_a_step_that_was_cut_off_answers_nobody_where_workers_are_replaced(restarts, found):
    pool = HonestPool()
    pool.reset()
    pool.step()
    before = list(pool.shown[1])
    pool.step()
    row = pool.recorder.events[-1].data["rows"][1]
    row.update(obs=pool.envs[1].reset(), final=before, reward=0.0, truncated=True, action=None)
    history = pool.recorder.history(setup={"on_worker_failure": restarts})
    assert len(texts(CHECKER.check(history))) == found


def test_a_rollout_of_fewer_frames_than_were_asked_for_is_found():
    pool = HonestPool()
    pool.rollout(3)
    history = with_event(pool.history(), 0, data={**pool.recorder.events[0].data, "frames": 7})
    assert texts(CHECKER.check(history)) == [
        "rollout (request 0) returned 6 frames, and had to get 7"
    ]


def test_a_rollout_without_a_frame_of_an_env_is_found():
    pool = HonestPool()
    pool.rollout(3)

    def silence(rows) -> None:
        rows[:] = [row for row in rows if row["env"] == 0]

    history = spoilt(pool.history(), "rollout", 0, silence)
    assert texts(CHECKER.check(history)) == ["no frame of rollout (request 0) is of envs [1]"]


def test_a_rollout_may_have_more_frames_than_were_asked_for():
    pool = HonestPool()
    pool.rollout(3)
    history = with_event(pool.history(), 0, data={**pool.recorder.events[0].data, "frames": 5})
    assert texts(CHECKER.check(history)) == []
