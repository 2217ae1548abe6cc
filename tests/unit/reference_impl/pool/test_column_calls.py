"""Steps of some envs go by column, and equal what goes row by row; a lease is not written over."""

from __future__ import annotations

import gc
from functools import partial

import pytest
import torch

from reference_impl.core.errors import Leased, WorkerError
from reference_impl.pool import AsyncEnvPool, async_calls
from reference_impl.pool.column_calls import Batch
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv

PLANS = tuple(Behaviour(length=length) for length in (2, 3, 5, 9))
SUBSETS = ([0, 1, 2, 3], [1, 2], [3, 0], [2])


@pytest.fixture
def make():
    """Return a maker of pools of processes that are closed after the test."""
    pools = []

    def make_one(*plans, **options):
        makers = [partial(ProbeEnv, tag, plan) for tag, plan in enumerate(plans or PLANS, start=1)]
        pool = AsyncEnvPool(makers, **{"start_method": "fork", "exchange": "shm", **options})
        pools.append(pool)
        return pool

    yield make_one
    for pool in pools:
        pool.close()


@pytest.fixture
def came_as(monkeypatch):
    """Return the list of the types of what receiving calls have made of what came."""
    types = []
    real = async_calls.AsyncCalls._receive_any

    def watched(*args, **kwargs):
        came = real(*args, **kwargs)
        types.append(type(came))
        return came

    monkeypatch.setattr(async_calls.AsyncCalls, "_receive_any", watched)
    return types


def acting(td):
    return td.set("action", 0.1 * td["observation"][..., :1].expand(*td.shape, 2).clone())


def content(td):
    return {key: leaf.tolist() for key, leaf in td.flatten_keys().items()}


def walked(pool, kind):
    """Return what ten sends and receives of the same subsets bring."""
    shown = []
    roots = dict(enumerate(pool.reset().unbind(0)))
    for turn in range(10):
        envs = SUBSETS[turn % len(SUBSETS)]
        sent = acting(torch.stack([roots[env].exclude("env_index") for env in envs]))
        sent["remark"] = torch.tensor(envs)
        getattr(pool, f"async_{kind}_send")(sent, env_index=envs)
        came = getattr(pool, f"async_{kind}_recv")(len(envs))
        parts = came if isinstance(came, tuple) else (came, came)
        shown += [part.exclude("env_index") for part in parts]
        nexts = parts[1] if isinstance(came, tuple) else parts[0]["next"].exclude("reward")
        for row, env in zip(nexts.unbind(0), sorted(envs), strict=True):
            roots[env] = row.exclude("env_index", "remark")
    return shown


@pytest.mark.parametrize("kind", ["step_and_maybe_reset", "step"])
def test_subsets_by_column_equal_subsets_by_value(make, kind, came_as):
    plans = PLANS if kind == "step_and_maybe_reset" else [Behaviour(length=99)] * 4
    by_value = walked(make(*plans, exchange="queue"), kind)
    assert set(came_as) == {list}
    by_column = walked(make(*plans), kind)
    assert came_as[-10:] == [Batch] * 10
    assert [*map(content, by_column)] == [*map(content, by_value)]


def test_what_is_received_does_not_change_with_the_next_send(make):
    pool = make()
    pool.async_step_and_maybe_reset_send(acting(pool.reset()))
    steps, roots = pool.async_step_and_maybe_reset_recv(4)
    before = steps.clone(), roots.clone()
    pool.async_step_and_maybe_reset_send(acting(roots.copy()) * 2)
    pool.async_step_and_maybe_reset_recv(4)
    assert (steps == before[0]).all()
    assert (roots == before[1]).all()


def test_envs_that_were_sent_apart_are_received_together(make, came_as):
    pool = make()
    root = acting(pool.reset())
    pool.async_step_send(root[2:])
    pool.async_step_send(root[:2])
    came = pool.async_step_recv(4)
    assert came_as == [Batch]
    assert list(came["env_index"]) == [0, 1, 2, 3]
    assert torch.equal(came["observation"], root["observation"])


def test_sends_of_different_entries_are_received_together_or_refused(make, came_as):
    pool = make(stack="maybe_dense")
    root = acting(pool.reset())
    pool.async_step_send(root[:2].exclude("draw"))
    pool.async_step_send(root[2:])
    came = pool.async_step_recv(4)
    assert came_as == [list]
    assert came["next", "observation"][:, 0].tolist() == [1, 2, 3, 4]


def test_an_env_that_raises_is_named_and_the_others_are_delivered(make):
    pool = make(Behaviour(), Behaviour(raise_in_steps=(1,)), Behaviour())
    pool.async_step_and_maybe_reset_send(acting(pool.reset()))
    with pytest.raises(WorkerError, match=r"worker 1 failed in step_and_maybe_reset"):
        pool.async_step_and_maybe_reset_recv(3)
    steps, _ = pool.async_step_and_maybe_reset_recv(2)
    assert list(steps["env_index"]) == [0, 2]


def test_one_env_is_received_by_its_index_out_of_a_batch(make):
    pool = make()
    root = acting(pool.reset())
    pool.async_step_and_maybe_reset_send(root)
    step, following = pool.async_step_and_maybe_reset_recv(env_index=2)
    assert step.batch_size == torch.Size(())
    assert torch.equal(step["action"], root["action"][2])
    assert following["observation"].tolist() == [3, 1, 1]
    assert pool.async_step_and_maybe_reset_recv(3)[0].shape == (3,)


def lease(pool, envs=None, kind="step_and_maybe_reset"):
    root = acting(pool.reset())
    getattr(pool, f"async_{kind}_send")(root if envs is None else root[envs], env_index=envs)
    return getattr(pool, f"async_{kind}_lease")(4 if envs is None else len(envs))


def test_a_lease_shows_what_the_receive_returns(make):
    one, other = make(), make()
    held = lease(one)
    other.async_step_and_maybe_reset_send(acting(other.reset()))
    steps, roots = other.async_step_and_maybe_reset_recv(4)
    with held as (lent_steps, lent_roots):
        assert (lent_steps.exclude("env_index") == steps.exclude("env_index")).all()
        assert (lent_roots.exclude("env_index") == roots.exclude("env_index")).all()
        assert list(lent_roots["env_index"]) == [0, 1, 2, 3]


@pytest.mark.parametrize("envs", [None, [1, 2]])
def test_a_lease_of_envs_side_by_side_is_no_copy(make, envs):
    pool = make()
    held = lease(pool, envs, "step")
    tensor = held.batch["next", "observation"]
    before = tensor.clone()
    held.release()
    pool.async_step_send(acting(pool.reset()))
    pool.async_step_recv(4)
    pool.async_step_send(acting(pool.reset())[[1]], env_index=[1])
    pool.async_step_recv(1)
    assert not torch.equal(tensor, before)


CALLS = {
    "step": lambda pool, td: pool.async_step_send(td),
    "step row by row": lambda pool, td: pool.async_step_send(torch.stack([*td.unbind(0)])),
    "step all": lambda pool, td: pool.step(td),
    "step and reset all": lambda pool, td: pool.step_and_maybe_reset(td),
    "reset": lambda pool, _: pool.reset(),
    "one": lambda pool, td: pool.async_step_send(td[1], env_index=1),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_leased_env_is_not_asked_for_what_would_write_over_it(make, call):
    pool = make()
    td = acting(pool.reset())
    held = lease(pool, [1, 2])
    before = held.batch[0].clone()
    with pytest.raises(Leased, match=r"\[1, 2\]"):
        CALLS[call](pool, td)
    assert (held.batch[0] == before).all()
    held.release()
    CALLS[call](pool, td)


def test_the_other_envs_go_on_while_some_are_leased(make):
    pool = make()
    td = acting(pool.reset())
    with lease(pool, [1, 2]):
        pool.async_step_send(td[[0, 3]], env_index=[0, 3])
        assert list(pool.async_step_recv(2)["env_index"]) == [0, 3]
        assert pool.stats()["leased"] == [1, 2]
        assert pool.get_attr("tag") == (1, 2, 3, 4)
    assert pool.stats()["leased"] == []


def test_releasing_again_does_not_end_the_next_lease(make):
    pool = make()
    first = lease(pool)
    first.release()
    second = lease(pool)
    first.release()
    with pytest.raises(Leased):
        pool.reset()
    second.release()
    pool.reset()


def test_a_released_lease_has_nothing_to_read(make):
    held = lease(make())
    held.release()
    steps, roots = held.batch
    assert list(steps.keys()) == list(roots.keys()) == []


def test_a_lease_outlives_its_pool(make):
    pool = make()
    held = lease(pool)
    seen = held.batch[0]["next", "observation"]
    before = seen.clone()
    pool.close()
    del pool
    gc.collect()
    assert torch.equal(seen, before)
    held.release()
    assert torch.equal(seen, before)


@pytest.mark.parametrize(
    "options",
    [
        {"exchange": "queue"},
        {"stack": "lazy"},
        {"on_worker_failure": "restart"},
        {"backend": "threading", "exchange": "auto"},
    ],
    ids=str,
)
def test_what_is_not_read_by_column_is_not_leased_and_not_lost(make, options):
    pool = make(**options)
    pool.async_step_send(acting(pool.reset()))
    with pytest.raises(ValueError, match="a lease needs"):
        pool.async_step_lease(4)
    assert pool.async_step_recv(4).shape == (4,)
