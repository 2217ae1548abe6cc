"""Shared slots carry what their specs say; what else there is stays, goes by value, or is refused."""

from __future__ import annotations

import os
import select
import signal
from functools import partial

import pytest
import torch
from tensordict import NonTensorData, TensorDict
from torchrl.data import Composite, Unbounded
from torchrl.envs import PendulumEnv, SerialEnv
from torchrl.testing.mocking_classes import (
    CountingBatchedEnv,
    EnvWithMetadata,
    NestedCountingEnv,
)

from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.messages import Operation
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv
from tests.unit.reference_impl.pool.gated_pool import BADLY, WELL, GatedPool

PLANS = (Behaviour(length=3), Behaviour(length=5))


@pytest.fixture
def make():
    """Return a maker of pools of processes that are closed after the test."""
    pools = []

    def make_one(makers, **options):
        pool = AsyncEnvPool(makers, **{"start_method": "fork", "exchange": "shm", **options})
        pools.append(pool)
        return pool

    yield make_one
    for pool in pools:
        pool.close()


def probes(*plans):
    return [partial(ProbeEnv, tag, plan) for tag, plan in enumerate(plans, start=1)]


def act(td):
    return td.set("action", 0.1 * td["observation"][..., :1].expand(*td.shape, 2).clone())


class ImageEnv(ProbeEnv):
    """Shows a picture filled with the number of steps."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_spec = Composite(
            observation=Unbounded((3,)),
            pixels=Unbounded((84, 84, 4), dtype=torch.uint8),
            draw=Unbounded((1,)),
            filler=Unbounded((1,)),
        )

    def _shown(self):
        picture = torch.full((84, 84, 4), self.step_in_episode, dtype=torch.uint8)
        return super()._shown().set("pixels", picture)


class ChattyEnv(ProbeEnv):
    """Shows an entry that its specs do not name, from its second step on."""

    def _step(self, tensordict):
        shown = super()._step(tensordict)
        return shown if self.steps < 2 else shown.set("remark", torch.tensor([self.steps]))


class StatefulEnv(ProbeEnv):
    """Carries a state from root to root: the sum of the actions."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_spec["total"] = Unbounded((1,))
        self.state_spec = Composite(total=Unbounded((1,)))

    def _reset(self, tensordict=None):
        return super()._reset(tensordict).set("total", torch.zeros(1))

    def _step(self, tensordict):
        total = tensordict["total"] + tensordict["action"].sum()
        return super()._step(tensordict).set("total", total.reshape(1))


@pytest.mark.parametrize("exchange", [None, "auto"])
def test_auto_chooses_slots_for_envs_whose_specs_say_all(make, exchange):
    assert make(probes(*PLANS), exchange=exchange).resolved_exchange == "shm"


@pytest.mark.parametrize(
    "makers",
    [[EnvWithMetadata] * 2, probes(Behaviour(size=1), Behaviour(size=2))],
    ids=["non-tensor data", "envs that differ"],
)
def test_what_slots_cannot_hold_goes_by_value_under_auto_and_is_refused_by_name(make, makers):
    pool = make(makers, exchange="auto", stack="lazy")
    assert pool.resolved_exchange == "queue"
    assert pool.reset().shape == (2,)
    with pytest.raises(ValueError, match=r"exchange='shm' cannot hold"):
        make(makers)


def test_workers_of_envs_that_are_refused_end_in_silence(make, capfd):
    with pytest.raises(ValueError, match=r"exchange='shm' cannot hold"):
        make([PendulumEnv] * 2)
    assert capfd.readouterr().err == ""


def test_threads_exchange_by_value():
    with pytest.raises(ValueError, match=r"exchange='shm' needs worker processes.*threading"):
        AsyncEnvPool([ProbeEnv], backend="threading", exchange="shm")
    pool = AsyncEnvPool([ProbeEnv], backend="threading")
    assert pool.resolved_exchange == "queue"
    pool.close()


BATCHED = partial(CountingBatchedEnv, batch_size=torch.Size([3]), max_steps=torch.tensor([2, 3, 4]))
FORMS = {
    "batched": BATCHED,
    "nested done": partial(NestedCountingEnv, max_steps=3),
    "nested below a root done": partial(NestedCountingEnv, max_steps=3, has_root_done=True),
    "images": ImageEnv,
    "state": StatefulEnv,
}


@pytest.mark.parametrize("stack", ["dense", "maybe_dense", "lazy"])
@pytest.mark.parametrize("form", FORMS)
def test_envs_of_any_form_roll_out_through_slots_as_in_serial_env(make, form, stack):
    pool, serial = make([FORMS[form]] * 2, stack=stack), SerialEnv(2, FORMS[form])
    rollouts = [
        env.rollout(9, partial(act_with_ones, env), break_when_any_done=False)
        for env in (pool, serial)
    ]
    serial.close()
    ours, theirs = rollouts[0].exclude("env_index").contiguous(), rollouts[1]
    keys = set(theirs.keys(include_nested=True, leaves_only=True))
    assert set(ours.keys(include_nested=True, leaves_only=True)) == keys
    for key in keys:
        assert torch.equal(ours[key], theirs[key]), key
        assert ours[key].dtype is theirs[key].dtype, key


def act_with_ones(env, td):
    for key in env.action_keys:
        action = env.full_action_spec[key].zero()
        action[..., 0] = 1
        td.set(key, action)
    return td


def with_extras(td):
    td.set("step_count", torch.arange(2).reshape(2, 1))
    td.set(("collector", "traj_ids"), torch.tensor([7, 8]))
    td.set("reward", torch.tensor([[5.0], [6.0]]))
    return td


def same(ours, theirs):
    ours, theirs = (td.exclude("env_index") for td in (ours, theirs))
    keys = set(theirs.keys(include_nested=True, leaves_only=True))
    assert set(ours.keys(include_nested=True, leaves_only=True)) == keys
    for key in keys:
        assert torch.equal(ours[key], theirs[key]), key


def test_entries_outside_the_specs_come_back_from_public_calls_as_by_value(make):
    pools = [make(probes(*PLANS)), make(probes(*PLANS), exchange="queue")]
    roots = [with_extras(act(pool.reset())) for pool in pools]
    for _ in range(6):
        came = [pool.step_and_maybe_reset(root) for pool, root in zip(pools, roots, strict=True)]
        for ours, theirs in zip(*came, strict=True):
            same(ours, theirs)
        roots = [act(root) for _, root in came]
        roots = [root.set("reward", torch.zeros(2, 1)) for root in roots]
    assert {"step_count", "collector"} <= set(roots[0].keys())


@pytest.mark.parametrize("verb", ["reset", "step", "step_and_maybe_reset"])
def test_entries_outside_the_specs_come_back_from_async_calls_as_by_value(make, verb):
    came = []
    for exchange in ("shm", "queue"):
        pool = make(probes(*PLANS), exchange=exchange)
        root = with_extras(act(pool.reset()))
        for _ in range(4):
            getattr(pool, f"async_{verb}_send")(root.clone())
            result = getattr(pool, f"async_{verb}_recv")(2)
            came.append(result if isinstance(result, tuple) else (result,))
    for ours, theirs in zip(came[:4], came[4:], strict=True):
        for mine, others in zip(ours, theirs, strict=True):
            same(mine, others)


def test_private_calls_return_nothing_of_what_they_were_given(make):
    pool = make(probes(*PLANS))
    td = with_extras(act(pool.reset()))
    pool._async_private_step_send(td)
    step = pool._async_private_step_recv(2)
    assert {"observation", "reward", "done"} <= set(step.keys())
    assert not {"step_count", "collector", "action"} & set(step.keys())
    pool._async_private_reset_send(td)
    root = pool._async_private_reset_recv(2)
    assert not {"step_count", "collector", "action", "reward"} & set(root.keys())


def test_extras_below_next_are_in_no_next_root(make):
    pool = make(probes(*PLANS))
    root = act(pool.reset())
    root["next"] = TensorDict({"guess": torch.ones(2, 1)}, batch_size=[2])
    pool.async_step_and_maybe_reset_send(root)
    _, following = pool.async_step_and_maybe_reset_recv(2)
    assert "guess" not in following


@pytest.mark.parametrize("verb", ["step_and_maybe_reset", "step", "async_step_send"])
@pytest.mark.parametrize(
    ("action", "why"),
    [
        (NonTensorData("left", batch_size=[2]), "'action' must be a tensor"),
        (torch.zeros(2, 5), r"'action' must have the shape .*2.*5"),
    ],
    ids=["no tensor", "another shape"],
)
def test_what_is_not_of_the_form_of_an_entry_is_refused_before_anything_is_sent(
    make, verb, action, why
):
    pool = make(probes(*PLANS))
    root = pool.reset()
    before = root["observation"].clone()
    with pytest.raises(TypeError, match=why):
        getattr(pool, verb)(root.clone().set("action", action))
    step = pool.step(act(root))
    assert (step["next", "observation"] - before)[:, 2].tolist() == [1, 1]


def test_an_entry_that_the_specs_do_not_name_is_a_failure_that_names_it(make):
    pool = make([ChattyEnv] * 2)
    root = pool.step_mdp(pool.step(act(pool.reset())))
    with pytest.raises(WorkerError, match=r"'remark' is not in the specs.*queue"):
        pool.step(act(root))


def test_under_auto_such_an_entry_travels_by_value(make):
    came = []
    for exchange in ("auto", "queue"):
        pool = make([ChattyEnv] * 2, exchange=exchange)
        root = pool.reset()
        for _ in range(5):
            _, root = pool.step_and_maybe_reset(act(root))
        came.append(pool.step_and_maybe_reset(act(root))[0])
    assert came[0]["next", "remark"].tolist() == [[6], [6]]
    same(*came)


class PreciseEnv(ProbeEnv):
    """Rewards in float64, though its specs say float32."""

    def _step(self, tensordict):
        shown = super()._step(tensordict)
        return shown.set("reward", shown["reward"].double())


def test_another_dtype_than_the_specs_say_is_not_converted_silently(make):
    pool = make([PreciseEnv] * 2)
    with pytest.raises(WorkerError, match=r"'reward' must be torch.float32, got torch.float64"):
        pool.step(act(pool.reset()))
    pool = make([PreciseEnv] * 2, exchange="auto")
    assert pool.step(act(pool.reset()))["next", "reward"].dtype is torch.float64


def test_batches_are_not_changed_by_later_steps(make):
    pool = make(probes(*PLANS))
    root, kept = pool.reset(), []
    for _ in range(8):
        step, root = pool.step_and_maybe_reset(act(root.copy()))
        kept.append((step, step.clone(), root, root.clone()))
    for step, step_then, later, then in kept:
        same(step, step_then)
        same(later, then)


def test_a_next_root_shares_nothing_with_the_shown_final_observation(make):
    pool = make(probes(Behaviour(length=1), Behaviour(length=1)))
    step, root = pool.step_and_maybe_reset(act(pool.reset()))
    root["observation"].zero_()
    assert step["next", "observation"].tolist() == [[1, 1, 1], [2, 1, 1]]


def test_an_env_that_still_works_for_a_call_that_gave_up_is_asked_by_value(make, gate):
    pool = make(probes(Behaviour(gate=gate), Behaviour(raise_in_steps=(1,))))
    root = act(pool.reset())
    with pytest.raises(WorkerError, match="worker 1"):
        pool.step_and_maybe_reset(root)
    gate.open(2)
    step, _ = pool.step_and_maybe_reset(root)
    assert step["next", "observation"].tolist() == [[1, 1, 2], [2, 1, 1]]
    assert pool.resolved_exchange == "shm"


def test_a_death_is_seen_while_another_env_is_waited_for(make, gate):
    pool = make(probes(Behaviour(gate=gate), Behaviour(kill_in_steps=(1,))))
    with pytest.raises(WorkerDied, match=r"worker 1 .*-9"):
        pool.step_and_maybe_reset(act(pool.reset()))
    gate.open()


def test_what_a_worker_answered_before_it_died_is_heard_while_another_is_waited_for(make, gate):
    pool = make(probes(Behaviour(gate=gate), Behaviour()))
    root = act(pool.reset())
    assert pool._line._wires[1].answered.take()  # the ring of the reset
    pool.async_step_send(root)
    gate.await_arrival()
    assert select.select([pool._line._wires[1].answered], [], [], PATIENCE_S)[0]
    os.kill(pool.worker_pids[1], signal.SIGKILL)
    heard = pool._line.listen([0, 1], Deadline.after(PATIENCE_S))
    assert [env for env, _ in heard.replies] == list(heard.gone) == [1]
    gate.open()


def test_masked_resets_through_slots_bring_the_last_root_of_the_spared(make):
    pool = make(probes(*PLANS))
    root = pool.reset()
    for _ in range(2):
        _, root = pool.step_and_maybe_reset(act(root))
    mask = TensorDict({"_reset": torch.tensor([[True], [False]])}, batch_size=[2])
    assert pool.reset(mask)["observation"].tolist() == [[1, 2, 0], [2, 1, 2]]


@pytest.mark.slow
@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_slots_reach_workers_that_do_not_inherit_memory(make, start_method):
    pool = make([lambda: ProbeEnv(1), lambda: ProbeEnv(2)], start_method=start_method)
    step, _ = pool.step_and_maybe_reset(act(pool.reset()))
    assert step["next", "observation"].tolist() == [[1, 1, 1], [2, 1, 1]]


def test_what_is_asked_after_a_call_by_value_does_not_overtake_it():
    # A worker looks into its slots first: a call in a slot that is free again would be carried out
    # before one that was given up on and still lies in the channel.
    gated = GatedPool(2, exchange="shm")
    try:
        for _ in range(2):  # the second call of env 0 goes by value: its slot is not free
            gated.let(1, BADLY)
            assert gated.at_once(Operation.PRIVATE_STEP) == ("WorkerError", 1)
        line, state = gated._pool._line, gated._pool._talk._state
        assert line is not None
        first = state.oldest_unanswered(0)
        gated.let(0, WELL)
        gated._read_until(lambda: state.oldest_unanswered(0) != first)
        assert not line.free((0,))
        assert line.free((1,))
        gated.let(0, WELL)
        gated.settle(0)
        assert line.free()
    finally:
        gated.end()
