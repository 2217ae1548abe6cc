"""Channels: whole messages in order, a closed one is a state, every wait ends."""

from __future__ import annotations

import os
import pickle
import select
import struct
import threading
from multiprocessing import Pipe

import pytest
import torch

from reference_impl.core import channel
from reference_impl.core.channel import ChannelClosed
from reference_impl.core.clock import MONOTONIC, Deadline
from reference_impl.core.ends import ProcessEnd
from reference_impl.core.ownership import start_thread
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.interrupts import interrupted_at

LARGE = 4_000_000
LONGER_THAN_A_READ = 80_000
SOON = PATIENCE_S


@pytest.fixture(params=["thread", "process"])
def kind(request):
    return request.param


@pytest.fixture
def ends(kind):
    pair = channel.pair(kind)
    yield pair
    for end in pair:
        channel.close(end)


@pytest.fixture
def raw():
    """Return an end and the bare connection of its peer."""
    ours, theirs = Pipe(duplex=True)
    end = ProcessEnd(ours)
    yield end, theirs
    channel.close(end)
    theirs.close()


def ready(*ends, seconds=SOON, sentinels=()):
    return channel.wait(ends, sentinels, Deadline.after(seconds))


def test_messages_come_in_the_order_of_sending_in_both_directions(ends):
    one, other = ends
    for sender, receiver in ((one, other), (other, one)):
        for number in range(3):
            channel.send(sender, number)
        assert ready(receiver) == {receiver}
        assert [channel.recv(receiver) for _ in range(3)] == [0, 1, 2]


def test_a_wait_without_a_message_ends_at_its_deadline(ends):
    start = MONOTONIC.now()
    assert ready(*ends, seconds=0.05) == set()
    assert MONOTONIC.now() - start >= 0.05


def test_a_message_wakes_who_waits(ends):
    threading.Timer(0.05, channel.send, (ends[0], "hello")).start()
    assert ready(ends[1]) == {ends[1]}
    assert channel.recv(ends[1]) == "hello"


def test_after_its_last_message_an_end_is_not_ready(ends):
    channel.send(ends[0], 1)
    ready(ends[1])
    channel.recv(ends[1])
    assert ready(ends[1], seconds=0.0) == set()


def test_after_the_message_that_woke_it_nothing_rings_on(ends):
    threading.Timer(0.05, channel.send, (ends[0], "hello")).start()
    ready(ends[1])
    channel.recv(ends[1])
    assert select.select([ends[1].fileno()], [], [], 0.0)[0] == []  # else a wait would spin


def test_only_the_end_with_a_message_is_ready(kind):
    pairs = [channel.pair(kind) for _ in range(3)]
    channel.send(pairs[1][0], "x")
    assert ready(*(theirs for _, theirs in pairs)) == {pairs[1][1]}
    for end in (end for pair in pairs for end in pair):
        channel.close(end)


def test_threads_and_processes_are_waited_for_at_once():
    pairs = [channel.pair("thread"), channel.pair("process")]
    for ours, _ in pairs:
        channel.send(ours, 1)
    theirs = {pair[1] for pair in pairs}
    assert ready(*theirs) == theirs
    for end in (end for pair in pairs for end in pair):
        channel.close(end)


def test_a_sentinel_ends_a_wait(ends):
    reader, writer = os.pipe()
    os.close(writer)
    assert ready(*ends, sentinels=(reader,)) == {reader}
    os.close(reader)


def test_closing_wakes_who_waits_on_the_other_side(ends):
    threading.Timer(0.05, channel.close, (ends[0],)).start()
    assert ready(ends[1]) == {ends[1]}
    assert ends[1].closed


def test_closing_wakes_who_waits_on_the_same_end(ends):
    threading.Timer(0.05, channel.close, (ends[0],)).start()
    assert ready(ends[0]) == {ends[0]}


def test_receiving_from_a_closed_channel_raises_at_once(ends):
    channel.close(ends[0])
    for end in ends:
        with pytest.raises(ChannelClosed):
            channel.recv(end)


def test_sending_on_a_closed_channel_raises_at_once(ends):
    channel.close(ends[0])
    ready(ends[1])
    for end in ends:
        with pytest.raises(ChannelClosed):
            channel.send(end, 1)


def test_what_was_sent_before_closing_is_still_received(ends):
    channel.send(ends[0], "last")
    channel.close(ends[0])
    assert channel.recv(ends[1]) == "last"


def test_closing_again_is_no_error(ends):
    channel.close(ends[0])
    channel.close(ends[0])
    channel.close(ends[1])


def test_a_closed_end_has_given_its_descriptor_back(ends):
    for end in ends:
        channel.close(end)
    assert [end.fileno() for end in ends] == [-1, -1]


def test_a_descriptor_that_somebody_else_closed_is_a_closed_channel(ends):
    os.close(ends[0].fileno())
    assert ready(ends[0]) == {ends[0]}
    assert ends[0].closed


def test_a_large_message_does_not_block_its_sender(ends):
    channel.send(ends[0], torch.ones(LARGE))
    channel.send(ends[0], "next")
    ready(*ends)
    for expected in (LARGE, 4):
        while not ends[1].has_message():
            ready(*ends)
        assert len(channel.recv(ends[1])) == expected


def test_flushing_to_nobody_ends_at_its_deadline(raw):
    end, _ = raw
    channel.send(end, torch.ones(LARGE))
    assert not channel.flush((end,), (), Deadline.after(0.05))


def test_flushing_beside_who_receives_takes_nothing_of_a_message_away(raw, monkeypatch):
    end, theirs = raw
    channel.send(ProcessEnd(theirs), bytes(LONGER_THAN_A_READ))
    channel.send(end, torch.ones(LARGE))
    has_read, flushed, read = threading.Event(), threading.Event(), os.read

    def held(*args):
        monkeypatch.undo()
        data = read(*args)
        has_read.set()
        assert flushed.wait(SOON)
        return data

    monkeypatch.setattr(os, "read", held)
    reader = start_thread(ready, (end,), name="reader")
    try:
        assert has_read.wait(SOON)
        theirs.close()
        assert channel.flush((end,), (), Deadline.after(SOON))  # nobody is there to read the rest
    finally:
        flushed.set()
        assert reader.join(Deadline.after(SOON))
    assert channel.recv(end) == bytes(LONGER_THAN_A_READ)


def test_all_that_a_peer_said_is_received_also_if_a_send_found_it_gone(raw):
    end, theirs = raw
    for message in (1, 2):
        channel.send(ProcessEnd(theirs), bytes(LONGER_THAN_A_READ) + bytes(message))
    theirs.close()
    with pytest.raises(ChannelClosed):
        channel.send(end, "hello")
    assert ready(end) == {end}
    assert [len(channel.recv(end)) - LONGER_THAN_A_READ for _ in range(2)] == [1, 2]


def test_half_a_message_is_not_ready(raw):
    end, theirs = raw
    os.write(theirs.fileno(), struct.pack("!Q", 100) + b"half")
    start = MONOTONIC.now()
    assert ready(end, seconds=0.05) == set()
    assert MONOTONIC.now() - start >= 0.05


def test_half_a_message_of_a_peer_that_is_gone_is_a_closed_channel(raw):
    end, theirs = raw
    os.write(theirs.fileno(), struct.pack("!Q", 100) + b"half")
    theirs.close()
    assert ready(end) == {end}
    with pytest.raises(ChannelClosed):
        channel.recv(end)


def test_a_message_that_comes_byte_by_byte_is_received_whole(raw):
    end, theirs = raw
    sender = ProcessEnd(theirs)
    other, their_other = Pipe(duplex=True)
    channel.send(ProcessEnd(their_other), list(range(100)))
    framed = os.read(other.fileno(), 10_000)
    for byte in framed:
        os.write(sender.fileno(), bytes([byte]))
        ready(end, seconds=0.0)
    assert channel.recv(end) == list(range(100))
    other.close()
    their_other.close()


def test_a_message_that_cannot_be_rebuilt_costs_only_itself(raw):
    end, theirs = raw
    os.write(theirs.fileno(), struct.pack("!Q", 3) + b"bad")
    channel.send(ProcessEnd(theirs), "good")
    ready(end)
    with pytest.raises(pickle.UnpicklingError):
        channel.recv(end)
    assert channel.recv(end) == "good"


def test_abandoning_a_copy_leaves_the_channel_to_others(raw):
    end, theirs = raw
    copy = ProcessEnd(type(theirs)(os.dup(theirs.fileno())))
    channel.abandon(copy)
    channel.send(ProcessEnd(theirs), "alive")
    assert channel.recv(end) == "alive"


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="fibre"):
        channel.pair("fibre")  # type: ignore[arg-type]  # what is tested


def test_an_interrupt_anywhere_in_a_wait_leaves_nothing_open_once_the_channel_is_closed(kind):
    before = sorted(os.listdir("/proc/self/fd"))
    for point in range(100_000):
        pair = channel.pair(kind)
        interrupted = interrupted_at(point, channel.wait, pair[:1], (), Deadline.after(0))
        for end in pair:
            channel.close(end)
        assert sorted(os.listdir("/proc/self/fd")) == before, f"interrupted at point {point}"
        if not interrupted:
            return
    pytest.fail("it never came to its end")
