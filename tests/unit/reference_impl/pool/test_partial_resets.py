"""A reset of some envs shows the others where they are, or says that this is not known yet."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict

from reference_impl.core.errors import WorkerError
from reference_impl.pool.conversation import Conversation
from tests.unit.reference_impl.pool.envs import Behaviour

LONG = Behaviour(length=9)


def acting(td):
    return td.set("action", torch.full((*td.batch_size, 2), 0.25))


def only(*envs):
    named = torch.tensor([[env in envs] for env in range(2)])
    return TensorDict({"_reset": named}, batch_size=[2])


def shown(td):
    return td["observation"].tolist()


@pytest.mark.parametrize("kind", ["step", "step_and_maybe_reset"])
@pytest.mark.parametrize("named", [(0,), ()])
@pytest.mark.parametrize("call", ["reset", "_reset"])
def test_it_is_refused_while_a_spared_env_is_in_a_step_and_nobody_moves(
    make_pool, gate, kind, named, call
):
    pool = make_pool(LONG, Behaviour(length=9, gate=gate))
    root = pool.reset()
    getattr(pool, f"async_{kind}_send")(acting(root)[1:])
    with pytest.raises(RuntimeError, match=r"busy are \[1\]; receive their results first"):
        getattr(pool, call)(only(*named))
    gate.open()
    getattr(pool, f"async_{kind}_recv")()
    after = pool.reset(only(0))
    assert shown(after) == [[1, 2, 0], [2, 1, 1]]  # the first was reset once only


def test_one_by_env_index_goes_on_beside_an_env_that_is_in_a_step(make_pool, gate):
    pool = make_pool(LONG, Behaviour(length=9, gate=gate))
    pool.async_step_send(acting(pool.reset())[1:])
    pool.async_reset_send(env_index=[0])
    came = pool.async_reset_recv()
    assert shown(came) == [[1, 2, 0]]
    gate.open()
    assert pool.async_step_recv()["next", "observation"].tolist() == [[2, 1, 1]]


@pytest.mark.parametrize("call", ["step", "step_and_maybe_reset"])
@pytest.mark.parametrize("late", [False, True])
def test_after_a_call_that_failed_the_others_are_shown_where_it_took_them(
    make_pool, gate, monkeypatch, call, late
):
    other = Behaviour(length=9, gate=gate)
    pool = make_pool(Behaviour(length=9, raise_in_steps=(1,)), other)
    root = pool.reset()
    if not late:
        gate.open()
    with pytest.raises(WorkerError, match="planned in step 1"):
        getattr(pool, call)(acting(root))
    gate.await_arrival()
    if late:  # its answer comes when its caller has given up on it
        listen = Conversation._read_round

        def opening(*args):
            monkeypatch.setattr(Conversation, "_read_round", listen)
            gate.open()
            listen(*args)

        monkeypatch.setattr(Conversation, "_read_round", opening)
    after = pool.reset(only(0))
    assert shown(after) == [[1, 2, 0], [2, 1, 1]]
    gate.open()
    assert pool.step(acting(after))["next", "observation"].tolist() == [[1, 2, 1], [2, 1, 2]]


def test_an_env_whose_own_step_failed_is_shown_where_it_was(make_pool):
    pool = make_pool(LONG, Behaviour(length=9, raise_in_steps=(2,)))
    pool.async_step_and_maybe_reset_send(acting(pool.reset()))
    _, root = pool.async_step_and_maybe_reset_recv(2)
    changed = acting(root)
    changed["observation"] = torch.full_like(changed["observation"], 7.0)
    pool.async_step_and_maybe_reset_send(changed)
    with pytest.raises(WorkerError):
        pool.async_step_and_maybe_reset_recv(2)
    pool.async_step_and_maybe_reset_recv(1)
    assert shown(pool.reset(only(0))) == [[1, 2, 0], [2, 1, 1]]
