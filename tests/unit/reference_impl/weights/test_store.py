"""Snapshots are seen in their slots, and a slot is written again only when it is free."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from reference_impl.weights.flattening import Flattener
from reference_impl.weights.packing import views
from reference_impl.weights.store import PayloadMissing, SnapshotStore


class Store(SnapshotStore):
    """Flattens what it is given, and counts versions."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self.flattener = Flattener()

    def add(self, source) -> Any:
        self.version += 1
        return self.put(self.flattener.flatten(source), self.version), self.version


@pytest.fixture
def store() -> Any:
    store = Store()
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
    assert values(reader.read(*store.add(source(2)))) == {"x": [2.0] * 3, "flag": [True]}


def test_a_snapshot_without_tensors_is_read(store, reader):
    assert values(reader.read(*store.add({}))) == {}


def test_two_leased_snapshots_do_not_share_a_slot(store, reader):
    payloads = [store.add(source(1)), store.add(source(2))]
    assert [values(reader.read(*p))["x"][0] for p in payloads] == [1.0, 2.0]


def test_a_freed_slot_is_used_again(store):
    first, _ = store.add(source(1))
    store.keep(())
    assert store.add(source(2))[0].offset == first.offset


def test_a_slot_is_used_again_for_another_layout(store, reader):
    store.add(source(1))
    store.keep(())
    name = "a name that makes the header longer by more than it is rounded up to, " * 2
    again = store.add({name: torch.arange(2)})
    assert values(reader.read(*again)) == {name: [0, 1]}


def test_a_snapshot_that_outgrows_every_slot_gets_one(store, reader):
    reader.read(*store.add(source(1)))
    large = store.add(source(3, 100_000))
    assert values(reader.read(*large))["x"] == [3.0] * 100_000


def test_a_slot_that_was_written_again_is_not_taken_for_what_it_held(store, reader):
    first = store.add(source(1))
    store.keep(())
    store.add(source(2))
    with pytest.raises(PayloadMissing, match="version 1 is not there, but 2's"):
        reader.read(*first)


def test_writing_into_what_was_read_does_not_reach_another_reader(store, reader):
    payload = store.add(source(1))
    views(*reader.read(*payload))["x"].fill_(9.0)
    other = store.reader()
    assert values(other.read(*payload))["x"] == [1.0] * 3
    other.close()


def test_what_a_reader_wrote_hides_nothing_that_comes_later(store, reader):
    payload = store.add(source(1))
    views(*reader.read(*payload))["x"].fill_(9.0)
    reader.refresh(payload[0])
    store.keep(())
    again = store.add(source(2))
    assert again[0].offset == payload[0].offset
    assert values(reader.read(*again))["x"] == [2.0] * 3


def test_a_store_that_is_collected_gives_its_descriptor_up():
    before = sorted(os.listdir("/proc/self/fd"))
    store = Store()
    store.add(source(1))
    del store
    assert sorted(os.listdir("/proc/self/fd")) == before
