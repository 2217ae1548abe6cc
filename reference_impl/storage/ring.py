"""Who may write and read which rows of a ring: claims, commits, losses. It touches no memory, process or clock.

Rows have *positions*, counted from the first that was ever claimed; the row at position p lies in
slot p modulo the capacity. A writer claims the next positions, writes their rows, and commits them;
only then may they be read. A claim whose writer is gone is lost: its slots hold nothing until
they are claimed again. Each step makes a new ring out of the old one, so that whoever shares it
can switch from one to the next at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

CLAIMS_MAX: Final = 1000  # of one ring, in flight or lost: so that a header has a size


class NotClaimed(LookupError):  # noqa: N818 - named after what is known
    """There is no such claim in flight: it was lost, or the ring was replaced meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, told from others that had its number before.

    Attributes:
        pid: its number.
        born: when it began; no two processes with one number have the same.
    """

    pid: int
    born: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Positions that hold no row to read.

    Attributes:
        start: the first position; it names the claim.
        rows: how many.
        owner: who writes them; None: nobody, they are lost.
    """

    start: int
    rows: int
    owner: Owner | None

    @property
    def stop(self) -> int:
        """The position after the last."""
        return self.start + self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """One state of the ring.

    Attributes:
        capacity: how many rows it holds.
        head: the next position to be claimed; it never goes back.
        base: positions before it were emptied; a multiple of the capacity.
        written: rows that were committed since the count was last emptied.
        lost: rows whose writers were gone, ever.
        claims: what is in flight or lost, by position.
    """

    capacity: int
    head: int = 0
    base: int = 0
    written: int = 0
    lost: int = 0
    claims: tuple[Claim, ...] = ()

    @property
    def low(self) -> int:
        """The first position that has not been claimed over, or emptied."""
        return max(self.base, self.head - self.capacity)

    @property
    def span(self) -> int:
        """How many slots, from slot 0 on, have ever been claimed since it was emptied."""
        return self.head - self.low

    @property
    def full(self) -> bool:
        """Whether each slot has been claimed."""
        return self.span == self.capacity

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """First position and number of rows of what is not readable between `low` and `head`."""
        low = self.low
        return tuple(
            (max(one.start, low), one.stop - max(one.start, low))
            for one in self.claims
            if one.stop > low
        )

    @property
    def whole(self) -> tuple[tuple[int, int], ...]:
        """First position, and the one after the last, of each run of readable rows."""
        runs, start = [], self.low
        for gap, rows in (*self.gaps, (self.head, 0)):
            if start < gap:
                runs.append((start, gap))
            start = gap + rows
        return tuple(runs)

    @property
    def readable(self) -> int:
        """How many rows can be read."""
        return self.span - sum(rows for _, rows in self.gaps)

    @property
    def owners(self) -> frozenset[Owner]:
        """Who has claims in flight."""
        return frozenset(one.owner for one in self.claims if one.owner is not None)

    def can_read(self, position: int) -> bool:
        """Return whether there is a whole row at this position."""
        return self.low <= position < self.head and not any(
            one.start <= position < one.stop for one in self.claims
        )

    def in_the_way(self, rows: int) -> tuple[Claim, ...]:
        """Return the claims in flight that a claim of so many rows would write over."""
        mine = min(rows, self.capacity)
        start = self.head + rows - mine
        return tuple(
            one
            for one in self.claims
            if one.owner is not None
            and (
                (start - one.start) % self.capacity < one.rows
                or (one.start - start) % self.capacity < mine
            )
        )

    def claim(self, owner: Owner, rows: int) -> tuple[Ring, Claim]:
        """Return the ring in which the next positions are the owner's, and its claim.

        Of more rows than the ring holds the claim is of the last ones: the others would be written
        over by them. Nothing may be in the way, and there must be room for one more claim.
        """
        assert rows > 0
        assert not self.in_the_way(rows)
        mine = min(rows, self.capacity)
        claim = Claim(start=self.head + rows - mine, rows=mine, owner=owner)
        ring = Ring(
            capacity=self.capacity,
            head=self.head + rows,
            base=self.base,
            written=self.written + rows - mine,
            lost=self.lost,
            claims=(*self.claims, claim),
        )
        return _tidied(ring), claim

    def with_at_most(self, claims: int) -> Ring:
        """Return the ring with so many claims, if it comes down to that by rows that are lost, too.

        Of claims that are lost the two oldest neighbours become one, with the rows between them, again and again: else
        they would have to wait for the ring to come round, for which there would be no claim left.
        """
        ring = self
        while len(ring.claims) > claims:
            neighbours = enumerate(zip(ring.claims, ring.claims[1:], strict=False))
            lost = (at for at, pair in neighbours if all(one.owner is None for one in pair))
            if (at := next(lost, None)) is None:
                break
            one, other = ring.claims[at : at + 2]
            both = Claim(start=one.start, rows=other.stop - one.start, owner=None)
            ring = replace(
                ring,
                lost=ring.lost + other.start - one.stop,
                claims=(*ring.claims[:at], both, *ring.claims[at + 2 :]),
            )
        return ring

    def commit(self, start: int) -> Ring:
        """Return the ring in which the rows of the claim that starts there can be read.

        Raises:
            NotClaimed: no such claim is in flight.
        """
        done = self._in_flight(start)
        gone = done.stop <= self.base  # it was emptied meanwhile
        return Ring(
            capacity=self.capacity,
            head=self.head,
            base=self.base,
            written=self.written + (0 if gone else done.rows),
            lost=self.lost,
            claims=tuple(one for one in self.claims if one is not done),
        )

    def lose(self, start: int) -> Ring:
        """Return the ring in which nobody will write the claim that starts there.

        Raises:
            NotClaimed: no such claim is in flight.
        """
        return self._losing((self._in_flight(start),))

    def without(self, dead: Collection[Owner]) -> Ring:
        """Return the ring in which all that these owners have claimed is lost."""
        return self._losing([one for one in self.claims if one.owner in dead])

    def emptied(self, *, count: bool) -> Ring:
        """Return the ring without rows, whose next row goes to slot 0; `count`: without its count, too."""
        start = -(-self.head // self.capacity) * self.capacity
        ring = replace(self, head=start, base=start, written=0 if count else self.written)
        return _tidied(ring)

    def taking(self, other: Ring, kept: Iterable[tuple[int, int]]) -> Ring:
        """Return the ring in which all rows are those of another one, in the slots that they had.

        Args:
            other: of the same capacity.
            kept: runs of its positions, as `whole` returns them; of the others there are no rows.
        """
        assert other.capacity == self.capacity
        shift = -(-max(0, self.head - other.low) // self.capacity) * self.capacity
        low, head = other.low + shift, other.head + shift
        ring = replace(
            self,
            head=head,
            base=low // self.capacity * self.capacity,
            written=other.written,
            claims=_lost_but(low, head, [(start + shift, stop + shift) for start, stop in kept]),
        )
        return ring.with_at_most(CLAIMS_MAX)

    def without_slots(self, first: int, number: int) -> Ring:
        """Return the ring in which so many slots from this one on hold nothing; what is in flight is lost, too.

        It may go over the ring's end, and be all of it.
        """
        at = self.low + (first - self.low) % self.capacity
        kept = self.whole
        for start in (at - self.capacity, at):  # where positions come to these slots
            kept = _outside(kept, start, start + number)
        ring = replace(self, claims=_lost_but(self.low, self.head, kept))
        ring = replace(ring, lost=self.lost + self.readable - ring.readable)
        return ring.with_at_most(CLAIMS_MAX)

    def _in_flight(self, start: int) -> Claim:
        for one in self.claims:
            if one.start == start and one.owner is not None:
                return one
        raise NotClaimed(f"no claim at position {start} is in flight")

    def _losing(self, claims: Collection[Claim]) -> Ring:
        if not claims:
            return self
        left = tuple(replace(one, owner=None) if one in claims else one for one in self.claims)
        lost = self.lost + sum(one.rows for one in claims)
        return _tidied(replace(self, claims=left, lost=lost))


def _tidied(ring: Ring) -> Ring:
    """Return it without lost rows that were claimed again or emptied; neighbours become one claim."""
    if all(one.owner is not None for one in ring.claims):
        return ring
    low = ring.low
    kept: list[Claim] = []
    for one in ring.claims:
        if one.owner is not None:
            kept.append(one)
        elif one.stop > low:
            start = max(one.start, low)
            if kept and kept[-1].owner is None and kept[-1].stop == start:
                start = kept.pop().start
            kept.append(Claim(start=start, rows=one.stop - start, owner=None))
    return replace(ring, claims=tuple(kept))


def _lost_but(low: int, head: int, kept: Iterable[tuple[int, int]]) -> tuple[Claim, ...]:
    """Return what is lost if of these positions only those runs, in order, are there."""
    claims, start = [], low
    for first, last in (*kept, (head, head)):
        if start < first:
            claims.append(Claim(start=start, rows=first - start, owner=None))
        start = last
    return tuple(claims)


def _outside(runs: Iterable[tuple[int, int]], start: int, stop: int) -> tuple[tuple[int, int], ...]:
    """Return what of these runs is not between two positions."""
    parts = [part for a, b in runs for part in ((a, min(b, start)), (max(a, stop), b))]
    return tuple((a, b) for a, b in parts if a < b)
