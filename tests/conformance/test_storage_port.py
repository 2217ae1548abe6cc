"""Every storage adapter keeps the contract of its port, whatever the backend behind it is worth."""

from __future__ import annotations

import importlib
import typing
from dataclasses import dataclass

import pytest

from harness.payloads.stamps import read, rows_of
from harness.ports import storage as port
from tests.conformance.conftest import close_and_drop

CAPACITY, HORIZON = 8, 5
TYPES = typing.get_type_hints(port.StorageSetup)
Medium = typing.Literal["memory", "disk"]


def storage_port(name: str) -> port.StoragePort:
    found = importlib.import_module(f"harness.adapters.{name}").backend.storage
    assert isinstance(found, port.StoragePort)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    backend: str
    medium: Medium = "memory"

    def make(self, path) -> port.ReplayStorage:
        setup = port.StorageSetup(capacity=CAPACITY, writers="driver", medium=self.medium)
        directory = str(path / "rows") if self.medium == "disk" else None
        return storage_port(self.backend).make(setup, directory)


CASES = [
    Case(backend="reference"),
    Case(backend="reference", medium="disk"),
    Case(backend="torchrl"),
    Case(backend="torchrl", medium="disk"),
    Case(backend="sb3_dummy"),
    Case(backend="numpy_ring"),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case.backend}-{case.medium}")
def case(request):
    return request.param


@pytest.fixture
def storage(case, tmp_path):
    made = case.make(tmp_path)
    yield made
    close_and_drop(made)


def batch(first: int, rows: int):
    return rows_of(0, first, (rows,), "plain", HORIZON)


def numbers(columns) -> list[int]:
    told = read(columns, "plain", HORIZON)
    assert not any("wrong" in each for each in told)
    return [each["number"] for each in told]


def test_nothing_is_read_of_a_new_storage(storage):
    found = storage.read_all()
    assert (found.length, list(found.slots)) == (0, [])


def test_what_was_written_is_read_whole_in_its_slots(storage):
    storage.extend(batch(1, 3))
    found = storage.read_all()
    assert (found.length, list(found.slots), numbers(found.columns)) == (3, [0, 1, 2], [1, 2, 3])


def test_a_full_ring_holds_the_last_rows(storage):
    for first in (1, 6, 11):
        storage.extend(batch(first, 5))
    found = storage.read_all()
    assert sorted(numbers(found.columns)) == list(range(8, 16))
    assert found.length == CAPACITY


def test_samples_are_of_what_was_written_and_say_where_it_lies_if_they_say_anything(storage):
    storage.extend(batch(1, 4))
    sampled = storage.sample(6)
    found = numbers(sampled.columns)
    assert len(found) == 6
    assert set(found) <= {1, 2, 3, 4}
    if sampled.slots is not None:
        assert [slot[0] + 1 for slot in sampled.slots] == found


def test_declared_setup_values_are_the_ports_own(case):
    for key, values in storage_port(case.backend).capabilities.setup.items():
        assert values <= set(typing.get_args(TYPES[key]))


def test_each_declared_point_is_a_function_that_there_is(case):
    found = storage_port(case.backend)
    assert found.capabilities.worker_ops & port.POINTS == frozenset(found.holds)
    for hold in found.holds.values():
        module, _, path = hold.target.partition(":")
        owner = importlib.import_module(module)
        for name in path.split("."):
            owner = getattr(owner, name)
        assert callable(owner)
