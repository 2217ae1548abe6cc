"""Every weights adapter keeps the contract of its port, whatever the backend behind it is worth."""

from __future__ import annotations

import importlib
import typing
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

from harness.payloads.policy import VersionedPolicyFactory
from harness.ports import weights as port
from harness.ports.clock import now_ns
from tests.conformance.conftest import close_and_drop
from tests.patience import PATIENCE_S

NUM_WORKERS = 2
DEADLINE_S = PATIENCE_S
TYPES = typing.get_type_hints(port.WeightsSetup)


def weights_port(name: str) -> port.WeightsPort:
    found = importlib.import_module(f"harness.adapters.{name}").backend.weights
    assert isinstance(found, port.WeightsPort)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    backend: str
    scheme: typing.Literal["copy", "shared"]

    def make(self, link: Any) -> port.WeightSync:
        setup = port.WeightsSetup(num_workers=NUM_WORKERS, scheme=self.scheme, numel=1000)
        factory = VersionedPolicyFactory(numel=setup.numel, link=link)
        return weights_port(self.backend).make(setup, factory, DEADLINE_S)


CASES = [
    Case(backend="reference", scheme="copy"),
    Case(backend="torchrl", scheme="copy"),
    Case(backend="torchrl", scheme="shared"),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case.backend}-{case.scheme}")
def case(request):
    return request.param


@pytest.fixture
def sync(case, link):
    made = case.make(link)
    yield made
    close_and_drop(made)


def whole(version: int) -> list[tuple[int, ...]]:
    return [(worker, version, version, version) for worker in range(NUM_WORKERS)]


def in_order(stamps: list[port.Stamp]) -> list[tuple[int, ...]]:
    return sorted((each.worker, each.first, each.last, each.buffer) for each in stamps)


def test_a_forward_returns_one_stamp_a_worker_with_the_first_version(sync):
    assert in_order(sync.forward()) == whole(port.FIRST_VERSION)


def test_the_forward_after_a_send_of_fresh_weights_acts_on_them(sync):
    sync.send(2, fresh=True, defect=None)
    assert in_order(sync.forward()) == whole(2)


def test_the_forward_after_a_send_of_the_trainers_own_parameters_acts_on_them(sync):
    sync.send(2, fresh=False, defect=None)
    assert in_order(sync.forward()) == whole(2)


def test_one_forward_follows_another(sync):
    assert in_order(sync.forward()) == in_order(sync.forward())


def test_each_stamp_says_when_its_forward_began(sync):
    since = now_ns()
    assert all(since <= stamp.began_ns <= now_ns() for stamp in sync.forward())


def test_what_a_backend_calls_a_version_tells_it_from_the_one_before(sync):
    before = {stamp.label for stamp in sync.forward()}
    sync.send(2, fresh=True, defect=None)
    after = {stamp.label for stamp in sync.forward()}
    assert len(before) == len(after) == 1
    assert before != after


def test_the_trainer_may_be_mutated_without_a_send(sync):
    sync.mutate(2)
    sync.send(3, fresh=True, defect=None)
    assert in_order(sync.forward()) == whole(3)


def test_worker_processes_are_alive_and_one_a_worker(sync):
    pids = sync.worker_pids()
    assert len(set(pids)) == NUM_WORKERS
    assert all(psutil.Process(pid).is_running() for pid in pids)


def test_workers_are_gone_once_closed(case, link):
    sync = case.make(link)
    pids = sync.worker_pids()
    sync.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_closing_twice_is_no_error(case, link):
    sync = case.make(link)
    sync.close()
    sync.close()


def test_declared_setup_values_are_the_ports_own(case):
    for key, values in weights_port(case.backend).capabilities.setup.items():
        assert values <= set(typing.get_args(TYPES[key]))
