"""Snapshots reach a reader by copy, and a slot is written again only when it is free."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from reference_impl.weights.packing import views
from reference_impl.weights.store import SnapshotStore


@pytest.fixture
def store() -> Any:
    store = SnapshotStore()
    yield store
    store.close()


@pytest.fixture
def reader(store) -> Any:
    reader = store.reader()
    yield reader
    reader.close()


def values(snapshot) -> Any:
    return {name: tensor.tolist() for name, tensor in views(*snapshot).items()}


def source(value, count=3) -> Any:
    return {"x": torch.full((count,), float(value)), "flag": torch.tensor([True])}


def test_what_was_put_is_read(store, reader):
    assert values(reader.read(store.put(source(2)))) == {"x": [2.0] * 3, "flag": [True]}


def test_a_snapshot_without_tensors_is_read(store, reader):
    assert values(reader.read(store.put({}))) == {}


def test_two_leased_snapshots_do_not_share_a_slot(store, reader):
    payloads = [store.put(source(1)), store.put(source(2))]
    assert [values(reader.read(p))["x"][0] for p in payloads] == [1.0, 2.0]


def test_a_freed_slot_is_used_again(store):
    first = store.put(source(1))
    store.free(first)
    assert store.put(source(2)).offset == first.offset


def test_a_slot_is_used_again_for_another_layout(store, reader):
    store.free(store.put(source(1)))
    name = "a name that makes the header longer by more than it is rounded up to, " * 2
    again = store.put({name: torch.arange(2)})
    assert values(reader.read(again)) == {name: [0, 1]}


def test_a_snapshot_that_outgrows_every_slot_gets_one(store, reader):
    reader.read(store.put(source(1)))
    large = store.put(source(3, 100_000))
    assert values(reader.read(large))["x"] == [3.0] * 100_000


def test_a_snapshot_that_was_read_does_not_change_with_its_slot(store, reader):
    first = store.put(source(1))
    snapshot = reader.read(first)
    store.free(first)
    store.put(source(2))
    assert values(snapshot)["x"] == [1.0] * 3


def test_a_tensor_that_was_kept_does_not_change_with_the_next_read(store, reader):
    kept = views(*reader.read(store.put(source(1))))["x"]
    reader.read(store.put(source(2)))
    assert kept.tolist() == [1.0] * 3


def test_writing_into_what_was_read_does_not_reach_another_reader(store, reader):
    payload = store.put(source(1))
    views(*reader.read(payload))["x"].fill_(9.0)
    other = store.reader()
    assert values(other.read(payload))["x"] == [1.0] * 3
    other.close()


def test_a_store_that_is_collected_gives_its_descriptor_up():
    before = sorted(os.listdir("/proc/self/fd"))
    store = SnapshotStore()
    store.put(source(1))
    del store
    assert sorted(os.listdir("/proc/self/fd")) == before
