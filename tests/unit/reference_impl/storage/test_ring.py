"""The ring, in every order of steps that two writers and a reader allow, and against a list."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reference_impl.storage.ring import Claim, NotClaimed, Owner, Ring

A, B = Owner(pid=1, born=10), Owner(pid=2, born=20)


def committed(ring: Ring, *batches: int) -> Ring:
    for rows in batches:
        ring, claim = ring.claim(A, rows)
        ring = ring.commit(claim.start)
    return ring


def readable(ring: Ring) -> list[int]:
    return [position for position in range(ring.head) if ring.can_read(position)]


def test_claimed_rows_are_not_readable_before_they_are_committed():
    ring, claim = committed(Ring(capacity=4), 2).claim(A, 1)
    assert [ring.readable, readable(ring)] == [2, [0, 1]]
    assert readable(ring.commit(claim.start)) == [0, 1, 2]


def test_a_claim_takes_what_it_will_write_over_from_readers():
    ring, _ = committed(Ring(capacity=4), 4).claim(A, 3)
    assert readable(ring) == [3]


def test_claims_are_committed_in_any_order():
    ring, first = Ring(capacity=4).claim(A, 1)
    ring, second = ring.claim(B, 2)
    ring = ring.commit(second.start)
    assert readable(ring) == [1, 2]
    assert readable(ring.commit(first.start)) == [0, 1, 2]


def test_nothing_is_claimed_over_a_claim_in_flight():
    ring, claim = Ring(capacity=4).claim(A, 2)
    assert ring.in_the_way(2) == ()
    assert ring.in_the_way(3) == (claim,)


def test_a_batch_that_is_larger_than_the_ring_leaves_its_last_rows():
    ring, claim = committed(Ring(capacity=4), 1).claim(A, 11)
    assert (claim.start, claim.rows) == (8, 4)
    ring = ring.commit(claim.start)
    assert [readable(ring), ring.written] == [[8, 9, 10, 11], 12]


def test_what_a_dead_owner_claimed_is_lost_and_counted():
    ring, _ = committed(Ring(capacity=4), 1).claim(A, 2)
    ring, claim = ring.claim(B, 1)
    ring = ring.without({A}).commit(claim.start)
    assert [readable(ring), ring.lost, ring.readable] == [[0, 3], 2, 2]


def test_lost_slots_are_claimed_again():
    ring, _ = Ring(capacity=4).claim(A, 4)
    ring = committed(ring.without({A}), 3)
    assert [readable(ring), ring.claims] == [[4, 5, 6], (Claim(start=3, rows=1, owner=None),)]
    assert committed(ring, 1).claims == ()


def test_neighbours_that_are_lost_are_one():
    ring = Ring(capacity=8)
    for _ in range(3):
        ring, claim = ring.claim(A, 2)
        ring = ring.lose(claim.start)
    assert ring.claims == (Claim(start=0, rows=6, owner=None),)


def test_a_lost_claim_is_not_committed():
    ring, claim = Ring(capacity=4).claim(A, 1)
    with pytest.raises(NotClaimed, match="position 0"):
        ring.lose(claim.start).commit(claim.start)


def test_an_emptied_ring_begins_at_slot_0():
    ring = committed(Ring(capacity=4), 3).emptied(count=True)
    assert [ring.readable, ring.span, ring.written, ring.head % 4] == [0, 0, 0, 0]
    assert readable(committed(ring, 2)) == [4, 5]


def test_what_was_in_flight_when_it_was_emptied_stays_out_and_in_the_way():
    ring, claim = committed(Ring(capacity=4), 1).claim(A, 1)
    ring = ring.emptied(count=True)
    assert ring.in_the_way(1) == ()
    assert ring.in_the_way(2) == (claim,)
    ring = ring.commit(claim.start)
    assert [ring.readable, ring.written, ring.in_the_way(2)] == [0, 0, ()]


@pytest.mark.parametrize("rows", [2, 5, 8, 13])
@pytest.mark.parametrize("others", [(), (3,), (5, 4)])
def test_rows_of_another_ring_are_taken_in_their_slots(rows, others):
    other, ring = committed(Ring(capacity=5), *[1] * rows), committed(Ring(capacity=5), *others)
    taken = ring.taking(other, other.whole)
    assert [p % 5 for p in readable(taken)] == [p % 5 for p in readable(other)]
    assert taken.low >= ring.head or not others
    assert (taken.written, taken.full, taken.span) == (other.written, other.full, other.span)


def test_of_another_ring_what_was_not_kept_is_lost():
    other = committed(Ring(capacity=5), 7)
    taken = Ring(capacity=5).taking(other, [(3, 4), (5, 6)])
    assert [p % 5 for p in readable(taken)] == [3, 0]
    assert taken.readable == 2


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("number", range(6))
def test_slots_that_are_said_to_hold_nothing_are_lost_and_the_others_are_there(first, number):
    for rows in range(1, 14):
        ring = committed(Ring(capacity=5), *[1] * rows)
        left = ring.without_slots(first, number)
        assert readable(left) == [p for p in readable(ring) if (p - first) % 5 >= number]
        assert left.lost == ring.readable - left.readable


def with_gaps(number: int, capacity: int) -> Ring:
    """A ring of rows and lost rows by turns."""
    ring = Ring(capacity=capacity)
    for _ in range(number):
        ring = committed(ring, 1)
        ring, claim = ring.claim(A, 1)
        ring = ring.lose(claim.start)
    return ring


@pytest.mark.parametrize("claims", range(1, 6))
def test_of_too_many_lost_claims_the_oldest_become_one_with_the_rows_between(claims):
    ring = with_gaps(5, 12)
    few = ring.with_at_most(claims)
    assert len(few.claims) == claims
    assert readable(few) == [0, *range(2, 10, 2)[5 - claims :]]
    assert few.lost == 5 + (5 - claims)


def test_claims_in_flight_do_not_become_one():
    ring = with_gaps(1, 12).claim(A, 1)[0]
    ring, claim = ring.claim(B, 1)
    ring = ring.lose(claim.start)
    assert ring.with_at_most(1) is ring


def test_a_ring_that_is_taken_or_loses_slots_has_no_more_claims_than_fit(monkeypatch):
    monkeypatch.setattr("reference_impl.storage.ring.CLAIMS_MAX", 4)
    ring = committed(with_gaps(4, 20), 5)
    assert len(ring.claims) == len(ring.without_slots(10, 1).claims) == 4
    *kept, (start, stop) = ring.whole
    gap = [(start, start + 2), (start + 3, stop)]
    taken = Ring(capacity=20).taking(ring, [*kept, *gap])
    assert len(taken.claims) == 4
    assert readable(taken) == [0, 4, 6, 8, 9, 11, 12]


# Every order of steps. A row is two cells; a writer writes them one by one, and may die anywhere.


@dataclass(frozen=True)
class Writer:
    owner: Owner
    batches: tuple[int, ...]
    claim: Claim | None = None
    cells: int = 0
    dead: bool = False


@dataclass(frozen=True)
class Reader:
    looks: int
    before: Ring | None = None
    seen: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class World:
    ring: Ring
    memory: tuple[int, ...]
    writers: tuple[Writer, ...]
    reader: Reader
    finished: frozenset[int] = frozenset()


def steps_of_a_writer(world: World, at: int):
    me = world.writers[at]

    def became(writer: Writer, **changes) -> World:
        writers = (*world.writers[:at], writer, *world.writers[at + 1 :])
        return replace(world, writers=writers, **changes)

    if me.dead:
        if me.owner in world.ring.owners:
            yield replace(world, ring=world.ring.without({me.owner}))
        return
    if me.claim is None:
        if me.batches and not world.ring.in_the_way(me.batches[0]):
            ring, claim = world.ring.claim(me.owner, me.batches[0])
            yield became(replace(me, claim=claim, batches=me.batches[1:]), ring=ring)
        return
    yield became(replace(me, dead=True))
    if me.cells < 2 * me.claim.rows:
        position = me.claim.start + me.cells // 2
        cell = 2 * (position % world.ring.capacity) + me.cells % 2
        memory = (*world.memory[:cell], position, *world.memory[cell + 1 :])
        yield became(replace(me, cells=me.cells + 1), memory=memory)
    else:
        rows = range(me.claim.start, me.claim.stop)
        yield became(
            replace(me, claim=None, cells=0),
            ring=world.ring.commit(me.claim.start),
            finished=world.finished | set(rows),
        )


def steps_of_the_reader(world: World):
    me, capacity = world.reader, world.ring.capacity
    if me.before is None:
        if me.looks:
            yield replace(world, reader=Reader(me.looks - 1, before=world.ring))
        return
    wanted = readable(me.before)
    if len(me.seen) < 2 * len(wanted):
        at = len(me.seen)
        position = wanted[at // 2]
        value = world.memory[2 * (position % capacity) + at % 2]
        yield replace(world, reader=replace(me, seen=(*me.seen, (position, value))))
        return
    for position, value in me.seen:
        # What the reader keeps is whole, of the position that it asked for, and was committed.
        if position >= world.ring.low:
            assert value == position
            assert position in world.finished
    yield replace(world, reader=Reader(me.looks))


def every_world(capacity: int, batches: tuple[tuple[int, ...], ...]):
    begin = World(
        ring=Ring(capacity=capacity),
        memory=(-1,) * (2 * capacity),
        writers=tuple(Writer(o, b) for o, b in zip((A, B), batches, strict=True)),
        reader=Reader(looks=1),
    )
    seen, left = {begin}, [begin]
    while left:
        world = left.pop()
        yield world
        following = [*steps_of_a_writer(world, 0), *steps_of_a_writer(world, 1)]
        for one in (*following, *steps_of_the_reader(world)):
            if one not in seen:
                seen.add(one)
                left.append(one)


@pytest.mark.parametrize(
    ("capacity", "batches"),
    [(1, ((1, 1), (1,))), (2, ((1, 1), (1,))), (2, ((2,), (2,))), (3, ((2,), (1, 1)))],
)
def test_in_every_order_readers_keep_whole_committed_rows_only(capacity, batches):
    worlds = 0
    for world in every_world(capacity, batches):
        worlds += 1
        ring = world.ring
        assert readable(ring) == [p for p in sorted(world.finished) if p >= ring.low]
        assert ring.readable == len(readable(ring))
        written = [c for w in world.writers if w.claim and not w.dead for c in [w.claim]]
        slots = [p % capacity for c in written for p in range(c.start, c.stop)]
        assert len(slots) == len(set(slots))  # nobody writes where another does
    assert worlds > 500


@settings(max_examples=80, stateful_step_count=40)
class AgainstAList(RuleBasedStateMachine):
    """The model is what is in each slot, by position, and who claims what."""

    def __init__(self):
        super().__init__()
        self.ring = Ring(capacity=5)
        self.slots: list[int | None] = [None] * 5
        self.flying: dict[int, tuple[Claim, bool]] = {}
        self.written = 0
        self.lost = 0

    @rule(owner=st.sampled_from([A, B]), rows=st.integers(1, 12))
    def claim(self, owner, rows):
        mine = min(rows, 5)
        start = self.ring.head + rows - mine
        taken = {p % 5 for p in range(start, start + mine)}
        busy = {p % 5 for claim, _ in self.flying.values() for p in range(claim.start, claim.stop)}
        assert bool(self.ring.in_the_way(rows)) == bool(taken & busy)
        if taken & busy:
            return
        self.ring, claim = self.ring.claim(owner, rows)
        assert (claim.start, claim.rows) == (start, mine)
        for slot in taken:
            self.slots[slot] = None
        self.flying[claim.start] = claim, True
        self.written += rows - mine

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), lose=st.booleans())
    def end(self, data, lose):
        claim, counts = self.flying.pop(data.draw(st.sampled_from(sorted(self.flying))))
        self.ring = self.ring.lose(claim.start) if lose else self.ring.commit(claim.start)
        self.lost += claim.rows if lose else 0
        if counts and not lose:
            self.written += claim.rows
            for position in range(claim.start, claim.stop):
                self.slots[position % 5] = position

    @rule(owner=st.sampled_from([A, B]))
    def die(self, owner):
        dead = [start for start, (claim, _) in self.flying.items() if claim.owner == owner]
        self.lost += sum(self.flying.pop(start)[0].rows for start in dead)
        self.ring = self.ring.without({owner})

    @rule(count=st.booleans())
    def empty(self, count):
        self.ring = self.ring.emptied(count=count)
        self.slots = [None] * 5
        self.flying = {start: (claim, False) for start, (claim, _) in self.flying.items()}
        self.written = 0 if count else self.written

    @invariant()
    def is_as_the_list_says(self):
        assert readable(self.ring) == sorted(p for p in self.slots if p is not None)
        assert self.ring.readable == len(readable(self.ring))
        assert (self.ring.written, self.ring.lost) == (self.written, self.lost)
        assert self.ring.owners == {claim.owner for claim, _ in self.flying.values()}


TestAgainstAList = AgainstAList.TestCase
