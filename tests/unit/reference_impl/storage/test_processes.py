"""The storage between processes: who writes, reads, dies, or is stopped, and what the others see."""

from __future__ import annotations

import logging
import os
import signal
import threading
from contextlib import contextmanager
from multiprocessing import Pipe

import pytest
import torch
from torchrl.data import PrioritizedSampler, SliceSampler

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process, start_thread
from reference_impl.storage import RingBusy, SharedReplayBuffer, SharedStorage
from reference_impl.storage.columns import Columns
from reference_impl.storage.header import Header
from reference_impl.storage.shared_ring import LOOK_S, SharedRing
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.storage.locks import held
from tests.unit.reference_impl.storage.rows import rows, stamps

START_METHODS = ["fork", pytest.param("spawn", marks=pytest.mark.slow)]


@contextmanager
def child(target, *args, start_method="fork"):
    """A process and our end of a pipe to it; it is gone afterwards."""
    ours, theirs = Pipe()
    process = start_process(target, (theirs, *args), name="child", start_method=start_method)
    theirs.close()
    try:
        yield process, ours
    finally:
        process.kill()
        assert process.join(Deadline.after(PATIENCE_S))
        process.release()
        ours.close()


def heard(pipe) -> object:
    assert pipe.poll(PATIENCE_S)
    return pipe.recv()


def write_and_say(pipe, buffer, first, number, each):
    for start in range(first, first + number, each):
        buffer.extend(rows(start, each))
    pipe.send(buffer.write_count)


@pytest.mark.parametrize("start_method", START_METHODS)
def test_what_others_write_first_is_laid_out_and_read_here(start_method):
    buffer = SharedReplayBuffer(storage=SharedStorage(100), batch_size=8)
    with child(write_and_say, buffer, 0, 40, 4, start_method=start_method) as (_, pipe):
        assert heard(pipe) == 40
    assert stamps(buffer[:]) == list(range(40))
    assert max(stamps(buffer.sample())) < 40


def die_at(_, storage, where):
    """Claim two rows and be killed there."""

    def dies(*_given):
        os.kill(os.getpid(), signal.SIGKILL)

    def tears(self, slot, *_):
        self.column(1)[slot] = 77
        dies()

    if where == "claim":
        SharedRing.commit = SharedRing.lose = Columns.write = dies  # type: ignore[method-assign]  # in a process of its own
    elif where == "row":
        Columns.write = tears  # type: ignore[method-assign]  # in a process of its own
    elif where == "commit":
        SharedRing.commit = dies  # type: ignore[method-assign]  # in a process of its own
    else:  # half-way through the bookkeeping, and with the lock
        publish, calls = Header.publish, []

        def half(self, ring):
            calls.append(ring)
            if len(calls) == (1 if where == "locked claim" else 2):
                self._words[8 + (1 - self._words[1] & 1) * 4005] = 10**9  # the bank in the making
                dies()
            publish(self, ring)

        Header.publish = half  # type: ignore[method-assign]  # in a process of its own
    storage.append(rows(10, 2))


@pytest.mark.parametrize("where", ["claim", "row", "commit", "locked claim", "locked commit"])
def test_a_writer_that_is_killed_leaves_no_row_and_nothing_locked(where, caplog):
    storage = SharedStorage(8, patience_s=20.0)
    storage.append(rows(0, 8))
    with child(die_at, storage, where) as (process, _):
        assert process.join(Deadline.after(PATIENCE_S))
    threading.Event().wait(LOOK_S)
    claimed = where != "locked claim"
    with caplog.at_level(logging.WARNING, "reference_impl.storage"):
        assert storage.lost_rows == 2 * claimed
    assert stamps(storage.get(slice(None))) == [2 * claimed + i for i in range(8 - 2 * claimed)]
    assert len(caplog.records) == claimed
    storage.append(rows(20, 8))
    assert sorted(stamps(storage.get(slice(None)))) == list(range(20, 28))


def stop_with_a_claim(pipe, storage):
    claim = storage.shared.claim(3)
    pipe.send(claim.start)
    os.kill(os.getpid(), signal.SIGSTOP)
    storage.shared.columns.write(claim.start, list(rows(50, 3).flatten_keys().values()), 0)
    storage.shared.commit(claim)
    pipe.send("done")


def test_a_stopped_writer_keeps_nobody_from_sampling_or_from_other_slots():
    storage = SharedStorage(9, patience_s=0.2)
    buffer = SharedReplayBuffer(storage=storage, batch_size=20)
    buffer.extend(rows(0, 9))
    with child(stop_with_a_claim, storage) as (process, pipe):
        heard(pipe)
        assert {*range(3, 9)} >= set(stamps(buffer.sample()))
        buffer.extend(rows(9, 6))
        assert set(stamps(buffer[:])) == set(range(9, 15))
        with pytest.raises(RingBusy, match=str(process.pid)):
            buffer.extend(rows(15, 1))
        os.kill(process.pid, signal.SIGCONT)
        assert heard(pipe) == "done"
    assert set(stamps(buffer[:])) == {50, 51, 52, *range(9, 15)}


def write_for_ever(pipe, storage, first):
    pipe.send("on it")
    while True:
        storage.append(rows(first, 3))
        first += 3


@pytest.mark.parametrize("capacity", [13, 64])
def test_samples_beside_writers_at_full_speed_are_whole(capacity):
    storage = SharedStorage(capacity)
    buffer = SharedReplayBuffer(storage=storage, batch_size=16)
    buffer.extend(rows(0, capacity))
    with (
        child(write_for_ever, storage, 10**6) as (_, one),
        child(write_for_ever, storage, 10**9) as (
            _,
            other,
        ),
    ):
        heard(one), heard(other)
        seen, times, deadline = set[int](), 0, Deadline.after(PATIENCE_S)
        while (times < 300 or len(seen) <= capacity) and not deadline.expired:
            seen.update(stamps(buffer.sample()))
            times += 1
    assert len(seen) > capacity


def write_episodes_for_ever(pipe, storage, first):
    pipe.send("on it")
    while True:
        storage.append(rows(first, 10))
        first += 10


@pytest.mark.parametrize("key", [{"end_key": ("next", "done")}, {"traj_key": "stamp"}])
@pytest.mark.parametrize("capacity", [67, 400])
def test_slices_beside_writers_at_full_speed_are_of_one_episode(capacity, key):
    storage = SharedStorage(capacity)
    slices = 1 if "traj_key" in key else 3
    buffer = SharedReplayBuffer(
        storage=storage, sampler=SliceSampler(slice_len=slices, **key), batch_size=8 * slices
    )
    buffer.extend(rows(0, capacity - capacity % 5))
    with (
        child(write_episodes_for_ever, storage, 10**6) as (_, one),
        child(write_episodes_for_ever, storage, 10**9) as (_, other),
    ):
        heard(one), heard(other)
        for _ in range(100):
            found = torch.tensor(stamps(buffer.sample())).view(8, slices)
            assert torch.equal(found - found[:, :1], torch.arange(slices).expand(8, slices))
            assert bool((found // 5 == found[:, :1] // 5).all())


def hold_the_lock(pipe, storage):
    pipe.recv()
    with held(storage.shared._lock):
        pipe.send("held")
        pipe.recv()


def test_who_is_stopped_with_the_lock_is_named_when_the_bound_is_over():
    storage = SharedStorage(4, patience_s=0.1)
    storage.append(rows(0, 2))
    with child(hold_the_lock, storage) as (process, pipe):
        pipe.send("take it")
        heard(pipe)
        with pytest.raises(RingBusy, match=f"process {process.pid} holds"):
            storage.append(rows(2, 1))
        assert stamps(storage.get(slice(None))) == [0, 1]  # reading needs no lock
        process.kill()
        process.join(Deadline.after(PATIENCE_S))
        storage.append(rows(2, 1))
    assert stamps(storage.get(slice(None))) == [0, 1, 2]


def test_what_could_not_be_committed_is_given_up_once_the_ring_can_be_had(monkeypatch):
    storage = SharedStorage(4, patience_s=0.1)
    storage.append(rows(0, 2))
    write = Columns.write
    with child(hold_the_lock, storage) as (process, pipe):

        def waits(*given):
            write(*given)
            pipe.send("take it")
            heard(pipe)

        with monkeypatch.context() as patch:
            patch.setattr(Columns, "write", waits)
            with pytest.raises(RingBusy, match="holds the ring"):
                storage.append(rows(2, 2))
        assert stamps(storage.get(slice(None))) == [0, 1]
        process.kill()
        process.join(Deadline.after(PATIENCE_S))
    assert storage.append(rows(4, 4)).tolist() == [0, 1, 2, 3]
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == ([4, 5, 6, 7], 2)


def test_threads_take_turns():
    storage = SharedStorage(1000)

    def write(first):
        for start in range(first, first + 200, 2):
            storage.append(rows(start, 2))

    threads = [start_thread(write, (first,), name=f"writer {first}") for first in (0, 200, 400)]
    assert all(thread.join(Deadline.after(PATIENCE_S)) for thread in threads)
    assert sorted(stamps(storage.get(slice(None)))) == list(range(600))


def test_a_fork_while_a_thread_holds_the_lock_is_not_locked_out():
    storage = SharedStorage(4)
    storage.append(rows(0, 1))
    has, go = threading.Event(), threading.Event()

    def hold():
        with held(storage.shared._lock):
            has.set()
            go.wait(PATIENCE_S)

    thread = start_thread(hold, (), name="holder")
    assert has.wait(PATIENCE_S)
    buffer = SharedReplayBuffer(storage=storage, batch_size=1)
    with child(write_and_say, buffer, 1, 1, 1) as (_, pipe):
        assert not pipe.poll(0.2)
        go.set()
        assert heard(pipe) == 2
    assert thread.join(Deadline.after(PATIENCE_S))
    assert torch.equal(storage.get(slice(None))["stamp"], torch.arange(2))


def say_its_sampler(pipe, buffer):
    buffer.extend(rows(0, 3))
    pipe.send((type(buffer.sampler).__name__, stamps(buffer[:])))


@pytest.mark.slow
@pytest.mark.usefixtures("prioritized_samplers")
def test_a_buffer_with_priorities_travels_and_leaves_them_at_home():
    buffer = SharedReplayBuffer(
        storage=SharedStorage(8), sampler=PrioritizedSampler(8, 1.0, 1.0), batch_size=50
    )
    with child(say_its_sampler, buffer, start_method="spawn") as (_, pipe):
        assert heard(pipe) == ("RandomSampler", [0, 1, 2])
    assert set(stamps(buffer.sample())) == {0, 1, 2}
