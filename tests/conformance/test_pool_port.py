"""Every pool adapter keeps the contract of its port, whatever the backend behind it is worth."""

from __future__ import annotations

import gc
import importlib
import json
import typing
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from harness.adapters import gymnasium as gymnasium_adapter
from harness.model import probe
from harness.payloads.env import CountingEnvFactory
from harness.payloads.link import SilentLink
from harness.ports import pool as port
from tests.conformance.conftest import close_and_drop
from tests.patience import PATIENCE_S

NUM_ENVS = 2
DEADLINE_S = PATIENCE_S
RECEIVE_S = 5.0  # torchrl waits for as long also when everything is in
ADAPTER_LINES_MAX = 80
TYPES = typing.get_type_hints(port.PoolSetup)


def pool_port(name: str) -> port.PoolPort:
    found = importlib.import_module(f"harness.adapters.{name}").backend.pool
    assert isinstance(found, port.PoolPort)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    backend: str
    transport: typing.Literal["thread", "process"]
    needs: str = ""  # a module that an interpreter which was brought along may lack

    @property
    def capabilities(self) -> port.PoolCapabilities:
        return pool_port(self.backend).capabilities

    @property
    def channels(self) -> frozenset[str]:
        return self.capabilities.channels.get(self.transport, frozenset())

    def make(self, link: Any, horizon: int = 4, *, twin: bool = False) -> Any:
        setup = port.PoolSetup(num_envs=NUM_ENVS, horizon=horizon, transport=self.transport)
        factories = [
            CountingEnvFactory(env_index=i, base_horizon=horizon, link=link)
            for i in range(NUM_ENVS)
        ]
        found = pool_port(self.backend)
        build = found.twin if twin else found.make
        assert build is not None
        return build(setup, factories, DEADLINE_S)


CASES = [
    Case(backend="reference", transport="thread"),
    Case(backend="reference", transport="process"),
    Case(backend="torchrl", transport="thread"),
    Case(backend="torchrl", transport="process"),
    Case(backend="torchrl_parallel", transport="process"),
    Case(backend="torchrl_serial", transport="thread"),
    Case(backend="gymnasium", transport="process"),
    Case(backend="gymnasium_sync", transport="thread"),
    Case(backend="sb3_subproc", transport="process", needs="stable_baselines3"),
    Case(backend="sb3_dummy", transport="thread", needs="stable_baselines3"),
]
WITH_CHANNELS = [case for case in CASES if not case.needs and case.channels]

# What torchrl's AsyncEnvPool does with a seed is to raise.
WITH_SEEDS = [
    case for case in CASES if "seed" in case.capabilities.verbs and case.backend != "torchrl"
]


def name_of(case: Case) -> str:
    return f"{case.backend}-{case.transport}"


@pytest.fixture(params=CASES, ids=name_of)
def case(request):
    if request.param.needs:
        pytest.importorskip(request.param.needs)
    return request.param


def declaring(*verbs: str):
    """The cases whose backend declares all of these."""
    able = [case for case in CASES if set(verbs) <= case.capabilities.verbs]
    return pytest.mark.parametrize("case", able, ids=name_of, indirect=True)


@pytest.fixture
def pool(case, link):
    made = case.make(link)
    yield made
    close_and_drop(made)


def actions(first: int) -> port.Floats:
    return np.arange(first, first + NUM_ENVS, dtype=np.float32)


def decoded(observation: port.Floats) -> list[probe.Observation]:
    return [probe.decode(row.tolist()) for row in observation]


def test_a_reset_returns_the_first_observation_of_every_env(pool):
    batch = pool.reset()
    assert list(batch.env_index) == [0, 1]
    assert batch.observation.dtype == np.float32
    assert batch.observation.shape == (NUM_ENVS, probe.WIDTH)
    assert [(o.env_index, o.episode, o.step) for o in decoded(batch.observation)] == [
        (0, 1, 0),
        (1, 1, 0),
    ]


def test_a_reset_says_nothing_about_a_step(pool):
    batch = pool.reset()
    assert (batch.action, batch.reward, batch.terminated, batch.truncated) == (None,) * 4


def test_a_step_answers_every_env_with_its_own_action(pool):
    pool.reset()
    batch = pool.step(actions(10))
    assert list(batch.env_index) == [0, 1]
    assert [o.action for o in decoded(batch.observation)] == [10, 11]
    if batch.action is not None:
        assert batch.action.tolist() == [10, 11]


def test_what_a_step_returns_has_one_entry_an_env(pool):
    pool.reset()
    batch = pool.step(actions(10))
    assert batch.reward.tolist() == [probe.reward(0, 1), probe.reward(1, 1)]
    assert (batch.terminated.dtype, batch.terminated.shape) == (np.bool_, (NUM_ENVS,))
    assert (batch.truncated.dtype, batch.truncated.shape) == (np.bool_, (NUM_ENVS,))


def test_the_callers_actions_are_not_changed(pool):
    pool.reset()
    given = actions(10)
    pool.step(given)
    assert given.tolist() == [10, 11]


def test_an_episode_ends_in_the_declared_autoreset_mode(case, link):
    pool = case.make(link, horizon=1)
    pool.reset()
    ended = pool.step(actions(10))
    shown = decoded(ended.observation)[0]
    assert ended.terminated.tolist() == [True, False]
    if case.capabilities.autoreset == "same_step":
        assert (shown.episode, shown.step) == (2, 0)
        final = decoded(ended.final_observation)[0]
        assert (final.episode, final.step, final.action) == (1, 1, 10)
    else:
        assert (shown.episode, shown.step, shown.action) == (1, 1, 10)
        following = decoded(pool.step(actions(20)).observation)[0]
        assert (following.episode, following.step) == (2, 0)
    pool.close()


@declaring("send", "recv")
def test_a_receive_returns_what_the_step_would_have_returned(pool):
    pool.reset()
    pool.send(actions(10))
    batch = pool.recv(min_get=NUM_ENVS, timeout_s=RECEIVE_S)
    assert sorted(batch.env_index) == [0, 1]
    assert [o.action for o in decoded(batch.observation)] == [10 + env for env in batch.env_index]


@pytest.mark.parametrize("case", WITH_SEEDS, ids=name_of)
def test_a_seed_reaches_every_env_before_the_reset_that_follows_has_ended(pool, link):
    pool.seed(3)
    pool.reset()
    events = [json.loads(line) for line in Path(link.journal).read_text().splitlines()]
    seeded = {event["role"] for event in events if event["op"] == "seed"}
    assert seeded == {"worker:0", "worker:1"}


@declaring("reset_where")
def test_a_masked_reset_restarts_the_masked_env_and_returns_a_row_for_each(pool):
    pool.reset()
    pool.step(actions(10))
    batch = pool.reset_where(np.array([True, False]))
    assert list(batch.env_index) == [0, 1]
    first = decoded(batch.observation)[0]
    assert (first.episode, first.step) == (2, 0)


def test_worker_processes_are_alive_and_one_an_env(case, pool):
    pids = pool.worker_pids()
    assert len(set(pids)) == (NUM_ENVS if case.transport == "process" else 0)
    assert all(psutil.Process(pid).is_running() for pid in pids)


def test_observations_come_from_the_worker_processes_in_the_order_of_the_envs(case, pool):
    if case.transport == "process":
        incarnations = [o.incarnation for o in decoded(pool.reset().observation)]
        assert incarnations == pool.worker_pids()


def test_workers_are_gone_once_closed(case, link):
    pool = case.make(link)
    pids = pool.worker_pids()
    pool.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_closing_twice_is_no_error(case, link):
    pool = case.make(link)
    pool.close()
    pool.close()


def test_declared_verbs_are_methods(case, pool):
    methods = set(port.methods_of(case.capabilities))
    assert all(callable(getattr(pool, name)) for name in methods)
    assert methods <= set(dir(port.FullPool))


@declaring("compare_reset", "compare_step")
def test_what_an_entry_point_takes_and_gives_is_described(pool):
    everyone = np.ones(NUM_ENVS, dtype=np.bool_)
    root = pool.enter("reset", actions(0), everyone, overwrite=False)
    stepped = pool.enter("step", actions(0), everyone, overwrite=False)
    assert (root.given, root.given_after) == (None, None)
    for entered in (root, stepped):
        assert entered.promised.keys() <= entered.returned.keys()
        assert json.loads(json.dumps(entered.returned)) == entered.returned
    assert stepped.given is not None
    assert stepped.given.keys() <= stepped.returned.keys()


@declaring("compare_step")
def test_a_backend_that_is_compared_has_a_twin_that_returns_the_same_entries(case, pool):
    twin = case.make(SilentLink(), twin=True)
    everyone = np.ones(NUM_ENVS, dtype=np.bool_)
    mark = {case.capabilities.mark} - {""}
    found, expected = (
        each.enter("reset", actions(0), everyone, overwrite=False).returned for each in (pool, twin)
    )
    twin.close()
    assert found.keys() == expected.keys() | mark


def test_each_backend_declares_what_its_suite_is_about():
    declared = {case.backend: case.capabilities.verbs for case in CASES if not case.needs}
    assert {name for name, verbs in declared.items() if "reset_where" in verbs} == set(declared)
    with_send = {name for name, verbs in declared.items() if {"send", "recv"} <= verbs}
    assert with_send == {"reference", "torchrl", "gymnasium"}


def test_declared_setup_values_are_the_ports_own(case):
    for key, values in case.capabilities.setup.items():
        assert values <= set(typing.get_args(TYPES[key]))


@pytest.mark.parametrize("case", WITH_CHANNELS, ids=name_of)
def test_declared_channel_ends_are_there_and_open(case, pool):
    for declared in case.channels:
        channel, end, how = declared.split("/")
        ends = pool.channel(channel, end, how)
        assert ends
        assert not any(each.closed for each in ends)


@pytest.mark.parametrize("case", WITH_CHANNELS, ids=name_of)
def test_a_channel_end_does_not_keep_the_pool_alive(case, link):
    pool = case.make(link)
    channels = [pool.channel(*declared.split("/")) for declared in case.channels]
    pool.close()
    dropped = weakref.ref(pool._pool)
    del pool
    gc.collect()
    assert channels
    assert dropped() is None


def test_an_adapter_lies_in_no_cycle_so_that_dropping_it_drops_the_pool_at_once(case, link):
    gc.collect()
    gc.disable()
    try:
        pool = case.make(link)
        pool.reset()
        pool.step(actions(10))
        pool.close()
        dropped = weakref.ref(pool)
        del pool
        assert dropped() is None
    finally:
        gc.enable()
        gc.collect()


@pytest.mark.parametrize("transport", ["thread", "process"])
def test_an_end_of_the_reference_is_closed_as_the_fault_asks(transport, link):
    case = Case(backend="reference", transport=transport)
    for declared in sorted(case.channels):
        pool = case.make(link)
        ends = pool.channel(*declared.split("/"))
        for end in ends:
            end.close()
        assert all(end.closed for end in ends)
        pool.close()


def test_the_smallest_full_adapter_is_within_eighty_lines():
    source = Path(gymnasium_adapter.__file__).read_text()
    assert len(source.splitlines()) <= ADAPTER_LINES_MAX
