"""A worker's slot: when it wakes, and that a command is carried out once."""

from __future__ import annotations

import itertools
import threading

import pytest

from reference_impl.core import channel
from reference_impl.core.arena import Arena
from reference_impl.core.bell import Bell
from reference_impl.pool.layout import layout_of
from reference_impl.pool.messages import CODES, Attach, Operation, Stop
from reference_impl.pool.slot_wires import Wire
from reference_impl.pool.slots import NOTHING, Slots
from reference_impl.pool.worker_slot import open_slots
from tests.unit.reference_impl.pool.envs import ProbeEnv


class Pair:
    """A worker's slot and the owner's side of it, in one process."""

    def __init__(self, *messages: object, num_envs: int = 1) -> None:
        env = ProbeEnv()
        self.layout = layout_of([env.specs] * num_envs, env.reset_keys)
        self.owner, self.end = channel.pair("process")
        arena = Arena()
        arena.resize(self.layout.size)
        self.slots = Slots(self.layout, arena.map())
        envs = range(num_envs)
        self.wire = Wire(envs=envs, arena=arena, asked=Bell(), everyone=Bell(), answered=Bell())
        for message in (Attach(layout=self.layout, strict=True), *messages):
            channel.send(self.owner, message)
        mine = open_slots(self.wire, self.end)
        assert mine is not None
        self.mine = mine
        self.slot = mine[0]

    def command(self, request: int, env: int = 0) -> None:
        self.slots.command(env, request, CODES[Operation.RESET], NOTHING)

    def wakes(self, within_s: float = 5.0) -> bool:
        waiter = threading.Thread(target=self.mine.wait, args=(self.end,))  # noqa: TID251 - joined below
        waiter.start()
        waiter.join(within_s)
        woken = not waiter.is_alive()
        self.wire.asked.ring()  # so that it ends
        waiter.join()
        return woken

    def close(self) -> None:
        self.mine._poller.close()
        self.wire.release()
        channel.close(self.owner)
        channel.close(self.end)


@pytest.fixture
def pair(request):
    made = Pair(*getattr(request, "param", ()))
    yield made
    made.close()


@pytest.mark.parametrize("pair", [(Stop(),)], indirect=True)
def test_a_message_that_came_along_with_the_layout_is_not_waited_for(pair):
    assert pair.wakes()
    assert pair.end.has_message()


def test_a_ring_wakes_it_once(pair):
    pair.command(1)
    pair.wire.asked.ring()
    assert pair.wakes()
    assert pair.slot.asked()
    assert not pair.slot.asked()


def test_a_command_that_was_answered_is_not_new_when_its_ring_comes_late(pair):
    pair.command(1)
    assert pair.slot.asked()
    pair.slots.answer(0, 0, 1)
    pair.wire.asked.ring()
    pair.mine.wait(pair.end)
    assert not pair.slot.asked()


@pytest.mark.parametrize("reads", [1, 2, 3, 4])
def test_a_command_that_is_written_while_it_is_looked_for_is_taken_once(pair, monkeypatch, reads):
    # The bell of everyone wakes who has nothing to do, and the owner may write just then.
    head, count = pair.slot._head, itertools.count(1)

    class CommandedInBetween:
        def __getitem__(self, which):
            found = head[which]
            if next(count) == reads:
                pair.command(1)
            return found

    monkeypatch.setattr(pair.slot, "_head", CommandedInBetween())
    looks = [pair.slot.asked() for _ in range(4)]  # each after a ring
    assert looks.count(True) == 1


def test_a_command_that_failed_is_not_carried_out_again(pair):
    pair.command(1)
    pair.slot.put_aside()
    assert not pair.slot.asked()
    pair.command(2)
    assert pair.slot.asked()


def test_a_closed_channel_wakes_it(pair):
    channel.close(pair.owner)
    assert pair.wakes()
    assert pair.end.closed


def test_answers_that_are_waited_for_one_by_one_ring_at_once():
    pair = Pair(num_envs=2)
    for env in (0, 1):
        pair.command(1 + env, env)
    for env in (0, 1):
        slot = pair.mine.asked()
        assert slot is pair.mine[env]
        pair.slots.answer(env, 0, 1)
        pair.mine.tell(slot)
        assert pair.wire.answered.take()
    pair.mine.rest()
    assert not pair.wire.answered.take()
    pair.close()


def test_answers_that_are_of_use_together_only_ring_once_at_the_end():
    pair = Pair(num_envs=2)
    pair.slots.command_all((1, 2), CODES[Operation.RESET], NOTHING)
    while (slot := pair.mine.asked()) is not None:
        pair.slots.answer(slot.place, 0, 1)
        pair.mine.tell(slot)
        assert not pair.wire.answered.take()
    pair.mine.rest()
    assert pair.wire.answered.take()
    pair.close()
