"""Methods, attributes, state and parameters of running envs."""

from __future__ import annotations

import pickle
import re
import threading
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torchrl.envs import Compose, GymWrapper, ObservationNorm, StepCounter, TransformedEnv
from torchrl.envs.transforms import Transform

from reference_impl.core.errors import WorkerError
from reference_impl.pool import AsyncEnvPool, EnvParamsError, Reinit, control_calls
from reference_impl.pool.controls import packed
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv


class Tunable(ProbeEnv):
    """Has a `tag` that shows, a method that takes it, and things that cannot be had."""

    def retag(self, tag):
        self.tag = tag
        if tag < 0:
            raise ValueError(f"planned: {tag} is negative")
        return self.tag

    def secret(self):
        return threading.Lock()

    def quit(self):
        raise SystemExit(3)


class Counted(Transform):
    """Has state that begins anew by a method of its own."""

    def __init__(self):
        super().__init__(in_keys=[], out_keys=[])
        self.since = 0

    def _step(self, tensordict, next_tensordict):  # noqa: ARG002 - torchrl's signature
        self.since += 1
        return next_tensordict

    def _reset(self, tensordict, tensordict_reset):  # noqa: ARG002 - torchrl's signature
        return tensordict_reset

    def begin_again(self, start=0):
        if start < 0:
            raise ValueError("planned: before the beginning")
        self.since = start


def tunable(tag, behaviour=None):
    return Tunable(tag, behaviour or Behaviour(length=3))


def wrapped(tag, loc=None):
    scale = None if loc is None else torch.ones(3)
    norm = ObservationNorm(in_keys=["observation"], out_keys=["normal"], loc=loc, scale=scale)
    if loc is None:
        env = TransformedEnv(tunable(tag), Compose(StepCounter(), Compose(norm, Counted())))
        norm.init_stats(8)
        return env
    return TransformedEnv(tunable(tag), Compose(StepCounter(), Compose(norm, Counted())))


@pytest.fixture
def make(way):
    pools = []

    def pool_of(maker, count=2, **options):
        backend, exchange = way
        usual = {"backend": backend, "exchange": exchange, "start_method": "fork"}
        makers = [partial(maker, tag) for tag in range(1, count + 1)]
        pools.append(AsyncEnvPool(makers, **{**usual, "shutdown_timeout": 4.0, **options}))
        return pools[-1]

    yield pool_of
    for pool in pools:
        pool.close()


def act(td):
    return td.set("action", torch.full((*td.batch_size, 2), 0.25))


def tags(td):
    return td["observation"][:, 0].tolist()


def test_a_method_is_called_in_each_env_behind_its_wrappers(make):
    pool = make(wrapped)
    assert pool.call("retag", 5) == (5, 5)
    assert pool.call("retag", tag=6, env_index=1) == 6
    assert pool.get_attr("tag", env_index=[1, 0]) == (6, 5)
    assert tags(pool.reset()) == [5.0, 6.0]


def test_an_attribute_is_set_on_whoever_has_it(make):
    pool = make(wrapped)
    pool.set_attr("tag", [8, 9])
    assert tags(pool.reset()) == [8.0, 9.0]
    pool.set_attr("tag", 4, env_index=0)
    assert pool.get_attr("tag") == (4, 9)


def test_attributes_of_a_gymnasium_env_are_reached_through_its_wrappers(make):
    def cart(_):
        inner = gymnasium.wrappers.TimeLimit(gymnasium.make("CartPole-v1").unwrapped, 5)
        return GymWrapper(inner)

    pool = make(cart)
    pool.set_attr("gravity", 1.5)
    assert pool.get_attr("gravity") == (1.5, 1.5)
    assert pool.call("get_wrapper_attr", "gravity") == (1.5, 1.5)


def test_an_attribute_that_nobody_has_is_an_error_and_is_not_made(make):
    pool = make(wrapped)
    with pytest.raises(WorkerError, match=r"worker 0 failed in set_attr.*no 'tga' in any of"):
        pool.set_attr("tga", 1)
    assert tags(pool.reset()) == [1.0, 2.0]


@pytest.mark.parametrize(("index", "values"), [([0, 0], 1), (2, 1), (None, [1, 2, 3])])
def test_arguments_that_name_no_envs_are_refused_before_anything_is_sent(make, index, values):
    pool = make(tunable)
    with pytest.raises(ValueError, match="env"):
        pool.set_attr("tag", values, env_index=index)
    assert pool.get_attr("tag") == (1, 2)


def test_a_result_that_cannot_be_pickled_is_an_error_and_the_worker_lives(make):
    pool = make(tunable)
    with pytest.raises(WorkerError, match="worker 0 failed in call: TypeError"):
        pool.call("secret")
    assert pool.call("retag", 3) == (3, 3)


def test_what_is_handed_over_is_nobody_elses(make):
    pool = make(tunable)
    given = {"deep": [1]}
    pool.set_attr("behaviour", given)
    given["deep"].append(2)
    found = pool.get_attr("behaviour", 0)
    found["deep"].append(3)
    assert pool.get_attr("behaviour") == ({"deep": [1]}, {"deep": [1]})


def test_a_call_waits_for_the_step_that_is_in_flight(make, gate):
    pool = make(partial(tunable, behaviour=Behaviour(gate=gate)))
    pool.async_step_and_maybe_reset_send(act(pool.reset()))
    gate.open(times=2)
    assert pool.get_attr("steps") == (1, 1)
    steps, _ = pool.async_step_and_maybe_reset_recv(min_get=2)
    assert steps["next", "observation"][:, 2].tolist() == [1.0, 1.0]


def test_the_state_of_each_env_is_saved_and_loaded(make):
    pool = make(partial(wrapped, loc=torch.zeros(3)))
    saved = pool.state_dict()
    pool.update_env_params({}, reinit_transforms=["ObservationNorm"])
    assert not torch.equal(
        pool.state_dict()["worker1"]["transforms.1.transforms.0.loc"], torch.zeros(3)
    )
    pool.load_state_dict(saved)
    assert torch.equal(
        pool.state_dict()["worker1"]["transforms.1.transforms.0.loc"], torch.zeros(3)
    )
    pool.load_state_dict(saved["worker0"])


def test_each_env_is_given_its_own_state_and_one_state_is_given_to_all(make):
    pool = make(lambda tag: wrapped(tag, loc=torch.full((3,), float(tag))))
    saved = pool.state_dict()
    pool.update_env_params({}, reinit_transforms=["ObservationNorm"])
    pool.load_state_dict(saved)
    name = "transforms.1.transforms.0.loc"
    assert [state[name][0].item() for state in pool.state_dict().values()] == [1.0, 2.0]
    pool.load_state_dict(saved["worker1"])
    assert [state[name][0].item() for state in pool.state_dict().values()] == [2.0, 2.0]


def test_stats_say_who_is_busy(make):
    pool = make(tunable)
    pool.async_step_send(act(pool.reset())[:1], env_index=[0])
    assert pool.stats()["busy"] == [0]
    assert pool.stats()["lost"] == []


def test_a_switch_falls_between_steps_and_transitions_show_its_version(make):
    pool = make(tunable, show_params_version=True)
    td = act(pool.reset())
    assert pool.update_env_params({"tag": 7}) == {0: 1, 1: 1}
    stepped, root = pool.step_and_maybe_reset(td)
    assert tags(stepped) == [1.0, 2.0]
    assert tags(stepped["next"]) == [7.0, 7.0]
    assert stepped["env_params_version"].flatten().tolist() == [0, 0]
    assert stepped["next", "env_params_version"].flatten().tolist() == [1, 1]
    assert root["env_params_version"].flatten().tolist() == [1, 1]


def test_what_all_envs_are_given_is_packed_once(make, monkeypatch):
    pool = make(tunable)
    packings: list[Any] = []

    def counted(what):
        packings.append(what)
        return packed(what)

    monkeypatch.setattr(control_calls, "packed", counted)
    pool.update_env_params({"tag": 7})
    pool.call("retag", 8)
    assert len(packings) == 2


def test_without_being_asked_for_the_version_is_no_entry(make):
    pool = make(tunable)
    pool.update_env_params({"tag": 7})
    assert "env_params_version" not in pool.step(act(pool.reset()))["next"]
    assert pool.env_params_versions() == (1, 1)


@pytest.mark.parametrize("call", ["step_and_maybe_reset", "async", "reset"])
def test_a_switch_may_wait_for_the_next_reset(make, call):
    pool = make(tunable, show_params_version=True)
    td = act(pool.reset())
    assert pool.update_env_params({"tag": 7}, env_index=1, when="reset") == {1: 0}
    for _ in range(2):
        stepped, td = pool.step_and_maybe_reset(act(td))
        assert tags(stepped["next"]) == [1.0, 2.0]
    if call == "step_and_maybe_reset":
        stepped, td = pool.step_and_maybe_reset(act(td))
    elif call == "async":
        pool.async_step_and_maybe_reset_send(act(td))
        stepped, td = pool.async_step_and_maybe_reset_recv(min_get=2)
    else:
        stepped, td = pool.step(act(td)), pool.reset()
    assert tags(stepped["next"]) == [1.0, 2.0]
    assert stepped["next", "env_params_version"].flatten().tolist() == [0, 0]
    assert tags(td) == [1.0, 7.0]
    assert td["env_params_version"].flatten().tolist() == [0, 1]
    assert pool.env_params_versions() == (0, 1)


def test_a_switch_that_would_overtake_one_that_waits_is_refused(make):
    pool = make(tunable)
    pool.update_env_params({"tag": 7}, when="reset")
    with pytest.raises(EnvParamsError, match="version 1 of the parameters still waits"):
        pool.update_env_params({"tag": 8})
    assert tags(pool.reset()) == [7.0, 7.0]


def test_an_env_that_fails_is_named_keeps_what_it_had_and_the_others_are_reported(make):
    pool = make(tunable, count=3)
    pool.update_env_params({"tag": 4}, method="retag")
    with pytest.raises(
        EnvParamsError, match=r"worker 1 failed in update_env_params.*-1 is neg"
    ) as caught:
        pool.update_env_params([{"tag": 5}, {"tag": -1}, {"tag": 6}], method="retag")
    assert caught.value.versions == {0: 2, 1: 1, 2: 2}
    assert list(caught.value.failures) == [1]
    assert pool.env_params_versions() == (2, 1, 2)
    assert tags(pool.reset()) == [5.0, 4.0, 6.0]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_of_several_attributes_all_are_set_or_none(make):
    pool = make(tunable)
    with pytest.raises(EnvParamsError):
        pool.update_env_params({"tag": 7, "tga": 7})
    assert pool.get_attr("tag") == (1, 2)


def test_a_switch_that_fails_at_its_reset_is_dropped_and_the_next_reset_works(make):
    pool = make(tunable)
    pool.update_env_params({"tag": -1}, env_index=0, method="retag", when="reset")
    with pytest.raises(WorkerError, match=r"worker 0.*version 1.*-1 is negative.*version 0 stays"):
        pool.reset()
    assert tags(pool.reset()) == [1.0, 2.0]


def test_statistics_are_made_anew_with_the_new_parameters_and_the_episode_goes_on(make):
    pool = make(wrapped)
    td = pool.step_mdp(pool.step(act(pool.reset())))
    episode = td["observation"][0, 1].item()
    pool.update_env_params(
        {"tag": 50},
        reinit_transforms=["ObservationNorm", Reinit(transform="Counted", method="begin_again")],
    )
    assert pool.get_attr("step_in_episode") == (1, 1)
    following = pool.step(act(td))["next"]
    assert following["observation"][0].tolist() == [50.0, episode, 2.0]
    assert (
        following["normal"][:, 0].abs().max() < 1.0
    )  # 50 - 1, over next to nothing, if it were old
    assert [each.transforms[1][1].since for each in pool.get_attr("transform")] == [1, 1]


def test_transforms_begin_anew_in_the_order_in_which_they_are_named(make):
    pool = make(wrapped)
    starts = (2, 1)
    again = partial(Reinit, transform="Counted", method="begin_again")
    reinit = [again(kwargs={"start": start}) for start in starts]
    pool.update_env_params({"tag": 5}, reinit_transforms=reinit)
    assert [each.transforms[1][1].since for each in pool.get_attr("transform")] == [1, 1]


def test_switches_that_wait_are_made_in_their_order(make):
    pool = make(tunable)
    for tag in (7, 8):
        pool.update_env_params({"tag": tag}, when="reset")
    assert tags(pool.reset()) == [8.0, 8.0]
    assert pool.env_params_versions() == (2, 2)


def test_a_transform_that_fails_undoes_the_switch(make):
    pool = make(partial(wrapped, loc=torch.zeros(3)))
    wrong = Reinit(transform="Counted", method="begin_again", kwargs={"start": -1})
    with pytest.raises(EnvParamsError, match="before the beginning"):
        pool.update_env_params({"tag": 50}, reinit_transforms=["ObservationNorm", wrong])
    assert pool.reset()["normal"][:, 0].tolist() == [1.0, 2.0]


def test_a_transform_that_is_not_there_is_an_error_that_names_those_that_are(make):
    pool = make(partial(wrapped, loc=torch.zeros(3)))
    with pytest.raises(
        EnvParamsError, match=r"no transform 'VecNorm'.*StepCounter, ObservationNorm"
    ):
        pool.update_env_params({"tag": 50}, reinit_transforms=["VecNorm"])
    assert pool.get_attr("tag") == (1, 2)


def test_a_reset_with_what_its_env_does_not_take_names_the_call_that_changes_parameters(make):
    pool = make(tunable)
    with pytest.raises(WorkerError, match=r"my_param.*call update_env_params"):
        pool.reset(my_param=1)
    assert tags(pool.reset()) == [1.0, 2.0]


def test_after_a_switch_all_is_as_in_a_pool_that_was_built_so(make):
    switched, fresh = make(wrapped), make(lambda _: wrapped(9))
    switched.step(act(switched.reset()))
    switched.update_env_params({"tag": 9}, reinit_transforms=["ObservationNorm"])
    ours, theirs = switched.reset(), fresh.reset()
    assert ours["normal"][:, 0].tolist() == theirs["normal"][:, 0].tolist()
    assert tags(ours) == tags(theirs)


@pytest.mark.parametrize("option", [{"backend": "asyncio"}, {"worker_affinity": [0]}])
def test_what_is_not_supported_is_refused_by_name(option):
    [(name, value)] = option.items()
    with pytest.raises(ValueError, match=f"{name}.*{re.escape(repr(value))}"):
        AsyncEnvPool([tunable], **option)


class Pulling(gymnasium.Env):
    """Shows its pull; ends after two steps."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(-10, 10, (1,))
        self.action_space = gymnasium.spaces.Discrete(2)
        self.pull = 1.0

    def reset(self, *, seed=None, options=None):  # noqa: ARG002 - gymnasium's signature
        self.steps = 0
        return np.array([self.pull], dtype=np.float32), {}

    def step(self, action):  # noqa: ARG002 - gymnasium's signature
        self.steps += 1
        return np.array([self.pull], dtype=np.float32), 0.0, self.steps >= 2, False, {}


def test_a_gymnasium_env_that_is_stepped_straight_into_its_slot_switches_at_its_reset(make):
    pool = make(lambda _: Pulling())
    td, shown = pool.reset(), []
    for step in range(4):
        if step == 1:
            pool.update_env_params({"pull": 3.0}, env_index=1, when="reset")
        stepped, td = pool.step_and_maybe_reset(pool.rand_action(td))
        shown.append(
            (
                stepped["next", "observation"].flatten().tolist(),
                td["observation"].flatten().tolist(),
            )
        )
    before, after = [1.0, 1.0], [1.0, 3.0]
    assert shown == [(before, before), (before, after), (after, after), (after, after)]
