"""Sending to some envs and receiving from whoever is ready."""

from __future__ import annotations

import pytest
import torch

from reference_impl.core.errors import ReceiveTimeout
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.pool.answers import answered
from tests.unit.reference_impl.pool.envs import Behaviour


def actions(pool, *envs):
    td = pool.reset()[list(envs)]
    td["action"] = torch.full((len(envs), 2), 0.5)
    return td


def test_results_of_a_subset_come_in_the_order_of_the_envs(make_pool):
    pool = make_pool(Behaviour(), Behaviour(), Behaviour())
    pool.async_step_send(actions(pool, 2, 0), env_index=[2, 0])
    came = pool.async_step_recv(min_get=2)
    assert list(came["env_index"]) == [0, 2]
    assert came["next", "observation"][:, 0].tolist() == [1, 3]


def test_the_tensordict_says_which_envs_are_meant(make_pool):
    pool = make_pool(Behaviour(), Behaviour(), Behaviour())
    pool.async_step_send(actions(pool, 1))
    assert pool.async_step_recv()["next", "observation"].tolist() == [[2, 1, 1]]


def test_a_result_holds_what_was_sent_and_next(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    sent = actions(pool, 0, 1)
    pool.async_step_send(sent)
    came = pool.async_step_recv(min_get=2)
    assert torch.equal(came["action"], sent["action"])
    assert torch.equal(came["observation"], sent["observation"])


def test_what_is_changed_after_sending_is_not_stepped(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate))
    sent = actions(pool, 0)
    pool.async_step_send(sent)
    sent["action"].zero_()
    gate.open()
    came = pool.async_step_recv()
    assert (came["next", "reward"].item(), came["action"].tolist()) == (1.0, [[0.5, 0.5]])


def test_a_slow_env_does_not_hold_up_the_others(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate), Behaviour())
    pool.async_step_send(actions(pool, 0, 1))
    assert list(pool.async_step_recv(min_get=1, timeout=None)["env_index"]) == [1]
    gate.open()
    assert list(pool.async_step_recv()["env_index"]) == [0]


def test_step_and_maybe_reset_brings_the_root_of_the_next_episode(make_pool):
    pool = make_pool(Behaviour(length=1), Behaviour(length=9))
    pool.async_step_and_maybe_reset_send(actions(pool, 0, 1))
    step, root = pool.async_step_and_maybe_reset_recv(min_get=2)
    assert step["next", "observation"].tolist() == [[1, 1, 1], [2, 1, 1]]
    assert root["observation"].tolist() == [[1, 2, 0], [2, 1, 1]]


def test_one_env_is_received_by_its_index_unstacked(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    one = actions(pool, 1)[0]
    pool.async_step_send(one, env_index=1)
    came = pool.async_step_recv(env_index=1)
    assert came.batch_size == torch.Size(())
    assert came["next", "observation"].tolist() == [2, 1, 1]


def test_what_was_sent_to_one_env_alone_is_no_part_of_a_batch(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    td = actions(pool, 0, 1)
    pool.async_step_send(td[0], env_index=0)
    pool.async_step_send(td[1:], env_index=[1])
    assert list(pool.async_step_recv(timeout=PATIENCE_S)["env_index"]) == [1]
    assert pool.async_step_recv(env_index=0)["env_index"] == 0


def test_resets_and_steps_are_received_apart(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    td = actions(pool, 0)
    pool.async_reset_send(env_index=[1])
    pool.async_step_send(td)
    assert pool.async_step_recv()["next", "observation"].tolist() == [[1, 1, 1]]
    assert pool.async_reset_recv()["observation"].tolist() == [[2, 2, 0]]


def test_the_private_twins_answer_without_a_root(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    pool._async_private_step_send(actions(pool, 0, 1))
    came = pool._async_private_step_recv(min_get=2)
    assert came["observation"].tolist() == [[1, 1, 1], [2, 1, 1]]
    pool._async_private_reset_send(env_index=[1])
    assert pool._async_private_reset_recv()["observation"].tolist() == [[2, 2, 0]]


def test_a_timeout_loses_no_result(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate), Behaviour())
    pool.async_step_send(actions(pool, 0, 1))
    with pytest.raises(TimeoutError):
        pool.async_step_recv(min_get=2, timeout=0.05)
    gate.open()
    assert list(pool.async_step_recv(min_get=2)["env_index"]) == [0, 1]


def test_at_the_deadline_a_batch_of_min_get_is_enough(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate), Behaviour())
    pool.async_step_send(actions(pool, 0, 1))
    assert answered(pool, 1)
    assert list(pool.async_step_recv(min_get=1, timeout=0.05)["env_index"]) == [1]
    gate.open()
    pool.async_step_recv()


def test_max_get_leaves_the_rest_for_the_next_call(make_pool):
    pool = make_pool(Behaviour(), Behaviour(), Behaviour())
    pool.async_step_send(actions(pool, 0, 1, 2))
    first = pool.async_step_recv(min_get=2, max_get=2, timeout=PATIENCE_S)
    rest = pool.async_step_recv()
    assert sorted([*first["env_index"], *rest["env_index"]]) == [0, 1, 2]


def test_more_than_is_outstanding_is_refused_at_once(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    pool.async_step_send(actions(pool, 0))
    with pytest.raises(RuntimeError, match="only 1"):
        pool.async_step_recv(min_get=2)
    pool.async_step_recv()


def test_a_busy_env_is_not_asked_again(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate))
    td = actions(pool, 0)
    pool.async_step_send(td)
    with pytest.raises(RuntimeError, match="busy"):
        pool.async_step_send(td)
    gate.open()
    pool.async_step_recv()


@pytest.mark.parametrize("wrong", [{"min_get": 0}, {"max_get": 0}, {"timeout": -1.0}])
def test_contradicting_arguments_of_a_receive_are_refused(make_pool, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_pool(Behaviour()).async_step_recv(**wrong)


@pytest.mark.parametrize("wrong", [[0, 0], [2], [-1]])
def test_an_env_index_that_names_no_env_or_one_twice_is_refused(make_pool, wrong):
    pool = make_pool(Behaviour(), Behaviour())
    with pytest.raises(ValueError, match="env_index"):
        pool.async_reset_send(env_index=wrong)


def test_a_receive_timeout_names_itself(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate))
    pool.async_step_send(actions(pool, 0))
    with pytest.raises(ReceiveTimeout):
        pool.async_step_recv(timeout=0.0)
    gate.open()
    pool.async_step_recv()
