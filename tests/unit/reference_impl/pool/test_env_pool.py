"""The pool returns what torchrl's SerialEnv returns, whoever drives it."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from tensordict import LazyStackedTensorDict, NonTensorStack, TensorDict
from torchrl.collectors import Collector
from torchrl.envs import Compose, RewardSum, SerialEnv, StepCounter, TransformedEnv, check_env_specs
from torchrl.testing.mocking_classes import (
    CountingBatchedEnv,
    EnvWithMetadata,
    MultiKeyCountingEnv,
    NestedCountingEnv,
)

from reference_impl.pool import AsyncEnvPool
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv

PLANS = (Behaviour(length=3), Behaviour(length=5))
STACKS = ("dense", "maybe_dense", "lazy")


def act(td):
    """Set each env's action to its tag's multiple, so that rewards tell envs apart."""
    return td.set("action", 0.1 * td["observation"][..., :1].expand(*td.shape, 2).clone())


def serial(*plans):
    makers = [partial(ProbeEnv, tag, plan) for tag, plan in enumerate(plans, start=1)]
    return SerialEnv(len(plans), makers)


def transformed(env):
    return TransformedEnv(env, Compose(StepCounter(), RewardSum()))


def assert_same_values(ours, theirs):
    ours = ours.exclude("env_index").contiguous()
    assert keys_of(ours) == keys_of(theirs)
    for key in keys_of(theirs):
        assert torch.equal(ours[key], theirs[key]), key


def keys_of(td):
    return set(td.keys(include_nested=True, leaves_only=True))


@pytest.mark.parametrize("stack", STACKS)
def test_reset_returns_what_serial_env_returns(make_pool, stack):
    assert_same_values(make_pool(*PLANS, stack=stack).reset(), serial(*PLANS).reset())


@pytest.mark.parametrize("stack", STACKS)
def test_step_returns_what_serial_env_returns(make_pool, stack):
    pool, reference = make_pool(*PLANS, stack=stack), serial(*PLANS)
    assert_same_values(pool.step(act(pool.reset())), reference.step(act(reference.reset())))


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("host", [lambda env: env, transformed], ids=["bare", "transformed"])
def test_rollouts_over_several_episodes_equal_those_of_serial_env(make_pool, stack, host):
    pool, reference = host(make_pool(*PLANS, stack=stack)), host(serial(*PLANS))
    rollouts = [env.rollout(20, act, break_when_any_done=False) for env in (pool, reference)]
    assert_same_values(*rollouts)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("host", [lambda env: env, transformed], ids=["bare", "transformed"])
def test_a_collector_collects_what_it_collects_from_serial_env(make_pool, stack, host):
    collected = []
    for env in (make_pool(*PLANS, stack=stack), serial(*PLANS)):
        collector = Collector(host(env), act, frames_per_batch=16, total_frames=48)
        try:
            collected.append([batch.clone() for batch in collector])
        finally:
            collector.shutdown()
    assert len(collected[0]) == len(collected[1]) == 3
    for ours, theirs in zip(*collected, strict=True):
        assert_same_values(ours, theirs)


@pytest.mark.parametrize("host", [lambda env: env, transformed], ids=["bare", "transformed"])
def test_specs_describe_what_comes(make_pool, host):
    check_env_specs(host(make_pool(*PLANS)))


def test_set_seed_seeds_as_serial_env_does(make_pool):
    pool, reference = make_pool(*PLANS), serial(*PLANS)
    assert pool.set_seed(3) == reference.set_seed(3)
    assert torch.equal(pool.reset()["draw"], reference.reset()["draw"])


def test_step_writes_nothing_into_the_callers_tensordict(make_pool):
    pool = make_pool(*PLANS)
    td = act(pool.reset())
    before, keys = td.clone(), keys_of(td)
    pool.step(td)
    assert keys_of(td) == keys
    assert (td.exclude("env_index") == before.exclude("env_index")).all()


@pytest.mark.parametrize("stack", STACKS)
def test_a_batch_that_was_handed_out_does_not_change(make_pool, stack):
    pool = make_pool(*PLANS, stack=stack)
    first = pool.step(act(pool.reset()))
    before = first["next", "observation"].clone()
    pool.step(act(pool.step_mdp(first)))
    assert torch.equal(first["next", "observation"], before)


def test_env_index_is_a_new_non_tensor_stack_in_each_result(make_pool):
    pool = make_pool(*PLANS)
    root = pool.reset()
    step = pool.step(act(root))
    for td in (root, step):
        assert isinstance(td.get("env_index"), NonTensorStack)
        assert list(td["env_index"]) == [0, 1]
    assert root.get("env_index") is not step.get("env_index")


def test_a_lazy_pool_returns_lazy_stacks(make_pool):
    assert isinstance(make_pool(*PLANS, stack="lazy").reset(), LazyStackedTensorDict)


def test_a_dense_pool_refuses_envs_of_different_shapes(make_pool):
    pool = make_pool(Behaviour(size=1), Behaviour(size=2), stack="dense")
    with pytest.raises(RuntimeError, match="maybe_dense"):
        pool.reset()


def test_maybe_dense_keeps_envs_of_different_shapes_apart(make_pool):
    pool = make_pool(Behaviour(size=1), Behaviour(size=2), stack="maybe_dense")
    root = pool.reset()
    assert [root[0]["filler"].shape, root[1]["filler"].shape] == [(1,), (2,)]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("host", [lambda env: env, transformed], ids=["bare", "transformed"])
def test_a_mask_resets_only_the_envs_that_it_names(make_pool, stack, host):
    pool = host(make_pool(*PLANS, stack=stack))
    root = pool.step_mdp(pool.step(act(pool.reset())))
    root["_reset"] = torch.tensor([[False], [True]])
    assert pool.reset(root)["observation"].tolist() == [[1, 1, 1], [2, 2, 0]]


def test_envs_that_a_mask_spares_do_not_move(make_pool):
    pool = make_pool(*PLANS)
    root = pool.step_mdp(pool.step(act(pool.reset())))
    root["_reset"] = torch.tensor([[False], [True]])
    step = pool.step(act(pool.reset(root)))
    assert step["next", "observation"].tolist() == [[1, 1, 2], [2, 2, 1]]


def test_a_mask_alone_brings_the_last_root_of_the_spared(make_pool):
    pool = make_pool(*PLANS)
    pool.step(act(pool.reset()))
    mask = TensorDict({"_reset": torch.tensor([[True], [False]])}, batch_size=[2])
    assert pool.reset(mask)["observation"].tolist() == [[1, 2, 0], [2, 1, 1]]


@pytest.mark.parametrize("stack", STACKS)
def test_what_the_caller_does_to_a_batch_is_not_what_a_spared_env_showed(make_pool, stack):
    pool = make_pool(*PLANS, stack=stack)
    step = pool.step(act(pool.reset()))
    step[1]["next", "observation"].zero_()
    mask = TensorDict({"_reset": torch.tensor([[True], [False]])}, batch_size=[2])
    assert pool.reset(mask)["observation"].tolist() == [[1, 2, 0], [2, 1, 1]]


def test_a_mask_that_names_nobody_resets_nobody(make_pool):
    pool = make_pool(*PLANS)
    root = pool.step_mdp(pool.step(act(pool.reset())))
    root["_reset"] = torch.zeros(2, 1, dtype=torch.bool)
    assert pool.reset(root)["observation"].tolist() == [[1, 1, 1], [2, 1, 1]]


def test_reset_changes_neither_the_callers_mask_nor_its_entries(make_pool):
    pool = make_pool(*PLANS)
    root = pool.step_mdp(pool.step(act(pool.reset())))
    root["_reset"] = torch.tensor([[False], [True]])
    before = root.clone()
    pool.reset(root)
    assert (root.exclude("env_index") == before.exclude("env_index")).all()
    assert "_reset" in keys_of(root)


def test_the_step_counter_of_a_spared_env_goes_on(make_pool):
    pool = transformed(make_pool(*PLANS))
    root = pool.step_mdp(pool.step(act(pool.reset())))
    root["_reset"] = torch.tensor([[False], [True]])
    assert pool.reset(root)["step_count"].tolist() == [[1], [0]]


def test_envs_that_a_step_spares_do_not_move(make_pool):
    pool, reference = make_pool(*PLANS), serial(*PLANS)
    steps = []
    for env in (pool, reference):
        td = act(env.reset())
        steps.append(env.step(td.set("_step", torch.tensor([True, False]))))
    assert steps[0]["next", "observation"].tolist() == [[1, 1, 1], [2, 1, 0]]
    assert_same_values(steps[0]["next"], steps[1]["next"])


CASES = {
    "batched": partial(
        CountingBatchedEnv, batch_size=torch.Size([3]), max_steps=torch.tensor([2, 3, 4])
    ),
    "nested done": partial(NestedCountingEnv, max_steps=3),
    "nested below a root done": partial(NestedCountingEnv, max_steps=3, has_root_done=True),
    "several agents": partial(MultiKeyCountingEnv, max_steps=3),
    "non-tensor data": EnvWithMetadata,
}


@pytest.mark.parametrize("case", CASES)
def test_envs_of_any_form_roll_out_as_in_serial_env(backend, exchange, case):
    exchange = "auto" if exchange == "shm" else exchange
    pool = AsyncEnvPool([CASES[case]] * 2, backend=backend, exchange=exchange, start_method="fork")
    reference = SerialEnv(2, CASES[case])
    try:
        rollouts = [
            env.rollout(7, partial(act_with_ones, env), break_when_any_done=False)
            for env in (pool, reference)
        ]
        assert keys_of(rollouts[0].exclude("env_index")) == keys_of(rollouts[1])
        for key in keys_of(rollouts[1]):
            assert (rollouts[0][key] == rollouts[1][key]).all(), key
    finally:
        pool.close()
        reference.close()


def act_with_ones(env, td):
    for key in env.action_keys:
        action = env.full_action_spec[key].zero()
        action[..., 0] = 1
        td.set(key, action)
    return td


def test_a_nested_mask_resets_only_the_envs_that_it_names():
    pool = AsyncEnvPool([CASES["nested done"]] * 2, backend="threading")
    try:
        root = pool.step_mdp(pool.step(act_with_ones(pool, pool.reset())))
        masks = [mask for mask in pool.reset_keys if isinstance(mask, tuple)]
        for mask in masks:
            done = root[(*mask[:-1], "done")]
            root[mask] = torch.zeros_like(done).index_fill(0, torch.tensor([1]), 1)
        assert masks
        states = pool.reset(root)["data", "states"].flatten(1)
        assert [states[0].unique().item(), states[1].unique().item()] == [1, 0]
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("backend", "asyncio"),
        ("stack", "sparse"),
        ("exchange", "pipe"),
        ("start_method", "vfork"),
        ("shutdown_timeout", 0.0),
        ("start_timeout", -1.0),
    ],
)
def test_an_unsupported_argument_is_refused_by_name_and_value(name, value):
    made = []
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        AsyncEnvPool([lambda: made.append(1)], **{name: value})
    assert made == []


@pytest.mark.slow
@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_workers_that_do_not_inherit_memory_serve_as_well(start_method):
    pool = AsyncEnvPool([lambda: ProbeEnv(1)], start_method=start_method)
    try:
        assert pool.reset()["observation"].tolist() == [[1, 1, 0]]
    finally:
        pool.close()


def test_env_index_has_the_shape_of_the_batch(backend, exchange):
    child = partial(
        CountingBatchedEnv, batch_size=torch.Size([3]), max_steps=torch.tensor([2, 3, 4])
    )
    options = {"backend": backend, "start_method": "fork"}
    with_slots = {} if backend == "threading" else {"exchange": exchange}
    pool = AsyncEnvPool([child, child], **options, **with_slots)
    try:
        root = pool.reset()
        stepped = pool.step(pool.rand_action(root))
    finally:
        pool.close()
    for td in (root, stepped):
        assert td.get("env_index").batch_size == (2, 3)
        assert td.get("env_index").tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("kwargs", [{"tag": 4}, [{"tag": 4}, {"tag": 5}]])
def test_makers_are_called_with_their_keyword_arguments(backend, kwargs):
    pool = AsyncEnvPool(
        [ProbeEnv, ProbeEnv], backend=backend, create_env_kwargs=kwargs, start_method="fork"
    )
    try:
        shown = pool.reset()["observation"][:, 0].tolist()
    finally:
        pool.close()
    assert shown == [each["tag"] for each in (kwargs if isinstance(kwargs, list) else [kwargs] * 2)]


def test_a_static_seed_is_that_of_every_env(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    assert pool.set_seed(5, static_seed=True) == 5
    assert pool.reset()["draw"].tolist() == [[5.0], [5.0]]
