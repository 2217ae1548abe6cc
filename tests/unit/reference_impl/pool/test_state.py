"""The ledger of a pool: what it promises, one fact each."""

from __future__ import annotations

import itertools

import pytest

from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.pool.messages import Done, Failed, Operation
from reference_impl.pool.state import OWED_MAX, Lost, PoolState

STEP, RESET = Operation.STEP, Operation.RESET


def begin(state, *envs, operation=STEP, alone=False):
    return state.begin(operation, {env: f"given to {env}" for env in envs}, alone=alone)


def begin_round(state) -> list[int]:
    ids: list[int] | None = state.begin_round(STEP)
    assert ids is not None
    return ids


def done(id_):
    return Done(request=id_, result=f"result of {id_}")


def failed(id_):
    return Failed(request=id_, cause="planned", traceback="")


def take(state, min_get=1, hoped=None, limit=99, operation=STEP):
    ids = state.ready_batch(operation, min_get, hoped=hoped or min_get, limit=limit)
    return None if ids is None else [one.env for one in state.deliver(ids)]


def test_a_result_comes_with_what_was_given():
    state = PoolState(1)
    [id_] = begin(state, 0)
    state.answer(0, done(id_))
    [delivery] = state.deliver((id_,))
    assert delivery == (0, "given to 0", f"result of {id_}")


def test_an_answer_is_delivered_once():
    state = PoolState(2)
    first, _ = begin(state, 0, 1)
    state.answer(0, done(first))
    assert take(state) == [0]
    assert take(state) is None


def test_a_second_answer_to_one_request_is_dropped():
    state = PoolState(1)
    [id_] = begin(state, 0)
    assert [state.answer(0, done(id_)), state.answer(0, done(id_))] == [True, False]


def test_an_answer_in_the_name_of_another_env_is_dropped():
    state = PoolState(2)
    [id_] = begin(state, 0)
    assert not state.answer(1, done(id_))


def test_an_answer_to_nothing_is_dropped():
    assert not PoolState(1).answer(0, done(7))


def test_an_answer_that_was_given_up_on_is_not_taken_for_the_next():
    state = PoolState(1)
    [old] = begin(state, 0)
    state.abandon([old])
    [new] = begin(state, 0)
    assert not state.answer(0, done(old))
    assert take(state) is None
    assert state.answer(0, done(new))


def test_an_env_that_owes_too_many_answers_is_busy():
    state = PoolState(1)
    for _ in range(OWED_MAX):
        state.abandon(begin(state, 0))
    with pytest.raises(RuntimeError, match="busy"):
        begin(state, 0)


def test_a_batch_is_never_larger_than_its_limit_and_in_the_order_of_envs():
    state = PoolState(3)
    ids = begin(state, 0, 1, 2)
    for env in (2, 1, 0):
        state.answer(env, done(ids[env]))
    assert take(state, limit=2) == [1, 2]
    assert take(state) == [0]


def test_with_everything_in_nothing_more_is_hoped_for():
    state = PoolState(3)
    [id_] = begin(state, 1)
    state.answer(1, done(id_))
    assert take(state, hoped=3) == [1]


def test_a_busy_env_leaves_the_state_as_it_was():
    state = PoolState(2)
    begin(state, 0)
    with pytest.raises(RuntimeError, match="busy"):
        begin(state, 1, 0)
    assert state.busy() == {0}


def test_a_lost_env_is_refused_at_once():
    state = PoolState(1)
    state.lose(0, Lost(exitcode=-9))
    with pytest.raises(WorkerDied, match=r"worker 0 .*-9"):
        begin(state, 0)


def test_the_first_reason_of_a_loss_counts():
    state = PoolState(1)
    state.lose(0, Lost(exitcode=-9))
    state.lose(0, Lost(reason="its channel is closed"))
    assert state.lost == {0: Lost(exitcode=-9)}


def test_an_answer_from_before_a_loss_is_still_delivered():
    state = PoolState(1)
    [id_] = begin(state, 0)
    state.answer(0, done(id_))
    state.lose(0, Lost())
    assert take(state) == [0]


@pytest.mark.parametrize(
    "call",
    [
        lambda state: begin(state, 0),
        lambda state: state.ready_batch(STEP, 1, hoped=1, limit=1),
        lambda state: state.ready_single(STEP, 0),
        lambda state: state.ready_group(()),
        lambda state: state.begin_round(STEP),
        lambda state: state.at_rest(RESET, (0,)),
    ],
)
def test_a_closed_pool_refuses_every_call(call):
    state = PoolState(1)
    state.close()
    with pytest.raises(Closed):
        call(state)


def test_alone_and_batch_do_not_take_each_others_results():
    state = PoolState(2)
    [single], [batched] = begin(state, 0, alone=True), begin(state, 1)
    state.answer(0, done(single))
    assert take(state) is None
    state.answer(1, done(batched))
    assert take(state) == [1]
    assert state.ready_single(STEP, 0) == (single,)


def test_a_round_that_is_over_leaves_every_env_idle():
    state = PoolState(2)
    ids = begin_round(state)
    assert state.end_round(ids)
    assert state.busy() == frozenset()
    assert not state.end_round(ids)


def test_a_round_that_somebody_looked_at_is_one_request_an_env():
    state = PoolState(2)
    ids = begin_round(state)
    assert state.busy() == {0, 1}
    assert not state.end_round(ids)
    for env, id_ in enumerate(ids):
        assert state.answer(env, done(id_))
    assert take(state, min_get=2) == [0, 1]


def test_the_ids_of_a_round_are_never_used_again():
    state = PoolState(2)
    ids = begin_round(state)
    state.end_round(ids)
    assert not {*begin(state, 0, 1)} & {*ids}


HINDRANCES = {
    "busy": lambda state: begin(state, 0),
    "lost": lambda state: state.lose(0, Lost()),
    "owing": lambda state: state.abandon(begin(state, 0)),
    "in a round": lambda state: state.begin_round(STEP),
}


@pytest.mark.parametrize("hindrance", HINDRANCES)
def test_no_round_begins_while_an_env_is(hindrance):
    state = PoolState(2)
    HINDRANCES[hindrance](state)
    assert state.begin_round(STEP) is None


def test_a_loss_in_a_round_is_told_of_and_the_others_are_delivered():
    state = PoolState(2)
    ids = begin_round(state)
    state.lose(1, Lost())
    assert not state.end_round(ids)
    state.answer(0, done(ids[0]))
    with pytest.raises(WorkerDied):
        state.ready_group(tuple(ids))
    assert take(state) == [0]


def test_a_round_does_not_end_well_in_a_closed_pool():
    state = PoolState(1)
    ids = begin_round(state)
    state.close()
    with pytest.raises(Closed):
        state.end_round(ids)


def test_an_env_is_at_rest_once_its_step_is_delivered_whatever_controls_it_was_asked():
    state = PoolState(2)
    begin(state, 1, operation=Operation.GET_ATTR)
    [id_] = begin(state, 0)
    assert state.at_rest(RESET, (1,)) == ()
    state.answer(0, done(id_))
    with pytest.raises(RuntimeError, match=r"asked \[0\] for reset, busy are \[0\]"):
        state.at_rest(RESET, (0,))
    take(state)
    assert state.at_rest(RESET, (0, 1)) == ()


def test_an_env_is_waited_for_that_has_not_answered_what_its_caller_gave_up_on():
    state = PoolState(2)
    ids = begin(state, 0, 1)
    state.answer(0, done(ids[0]))
    assert [one.result for one in state.abandon(ids)] == [f"result of {ids[0]}"]
    assert (state.owes(0, ids[0]), state.owes(1, ids[1])) == (False, True)
    assert (state.at_rest(RESET, (0,)), state.at_rest(RESET, (1,))) == ((), None)
    state.answer(1, done(ids[1]))
    assert state.at_rest(RESET, (1,)) == ()


def test_a_batch_of_all_that_is_outstanding_needs_each_that_has_not_answered():
    state = PoolState(3)
    first, *_ = begin(state, 0, 1, 2)
    begin(state, *[], operation=RESET)
    state.answer(0, done(first))
    assert sorted(state.needed(STEP, 3)) == [1, 2]
    assert state.needed(STEP, 2) == []


FATES = ("done", "failed", "lost", "given up, then done", "done, then given up")


@pytest.mark.parametrize("fates", list(itertools.product(FATES, repeat=2)))
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_each_request_ends_in_exactly_one_way_whatever_befalls_the_others(fates, order):
    state = PoolState(2)
    ids = begin(state, 0, 1)
    for env in order:
        befall(state, env, ids[env], fates[env])
    results, errors = drain(state)
    assert results == [env for env in (0, 1) if fates[env] == "done"]
    assert errors == [env for env in order if fates[env] in ("failed", "lost")]
    assert state.busy() == frozenset()


def befall(state, env, id_, fate):
    if fate == "done":
        state.answer(env, done(id_))
    elif fate == "failed":
        state.answer(env, failed(id_))
    elif fate == "lost":
        state.lose(env, Lost())
        state.answer(env, done(id_))  # late: the loss has answered already
    elif fate == "given up, then done":
        state.abandon([id_])
        state.answer(env, done(id_))
    else:
        state.answer(env, done(id_))
        state.abandon([id_])


def drain(state):
    results: list[int] = []
    errors: list[int] = []
    while left := state.outstanding(STEP):
        try:
            results += take(state, min_get=1, hoped=left) or []
        except WorkerError as error:
            errors.append(error.worker)
    return results, errors
