"""A ring that processes share: the thin shell that carries out what `ring.Ring` decides.

Only the bookkeeping of claims and commits is done under the lock between processes, some 10 us each;
rows are copied without it. Who is gone is found out by whoever comes next, at most every 50 ms.
"""

from __future__ import annotations

import contextlib
import logging
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_impl.core.clock import MONOTONIC, Deadline
from reference_impl.storage.columns import Columns
from reference_impl.storage.errors import NotAStorage, RingBusy
from reference_impl.storage.header import Header
from reference_impl.storage.layout import Layout, from_json, to_json
from reference_impl.storage.lock import ProcessLock
from reference_impl.storage.owners import alive, me
from reference_impl.storage.places import data_size
from reference_impl.storage.ring import CLAIMS_MAX, Claim, NotClaimed, Ring

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from reference_impl.core.clock import Clock
    from reference_impl.storage.places import Place

LOOK_S: Final = 0.05
"""How long a dead writer may stay unnoticed while others come by."""
_PAUSE_S: Final = 0.0005  # between looks at claims in the way: writing one takes about that
_LAST_S: Final = (
    1.0  # for the lock, held for some 10 us, by whose want rows that are written would be lost
)
_log: Final = logging.getLogger("reference_impl.storage")


class SharedRing:
    """The ring of one place; it may be used from any thread, and travels to new processes.

    Args:
        place: where it lies; released with this object.
        patience_s: the bound of what a call waits for that is given no deadline.
        clock: what the bound is measured with.
    """

    def __init__(self, place: Place, patience_s: float, clock: Clock = MONOTONIC) -> None:
        self._place = place
        self.patience_s = patience_s
        self._clock = clock
        self._look_at = 0.0
        self._settled: tuple[Layout, Columns] | None = None
        self._owed: list[Claim] = []  # to be given up, when the ring could not be had for it
        self._lock = ProcessLock(place.head.fileno())
        weakref.finalize(self, self._lock.closing(), place.release)
        self._header = self._lock.alone(self.deadline(), lambda: Header(place.head.map()))
        self._begin()

    def __reduce__(self) -> tuple[Callable[..., SharedRing], tuple[Any, ...]]:
        return SharedRing, (self._place, self.patience_s, self._clock)

    @property
    def layout(self) -> Layout | None:
        """What rows look like, once somebody has written one."""
        settled = self._settlement()
        return None if settled is None else settled[0]

    @property
    def columns(self) -> Columns | None:
        """The rows' memory, once somebody has written one."""
        settled = self._settlement()
        return None if settled is None else settled[1]

    @property
    def version(self) -> int:
        """Grows with each claim and commit."""
        return self._header.version

    def deadline(self) -> Deadline:
        """Return when what begins now has to have ended."""
        return Deadline.after(self.patience_s, self._clock)

    def settle(self, layout: Layout, deadline: Deadline | None = None) -> None:
        """Say what rows look like, unless somebody has: then nothing changes.

        Raises:
            NoRoom, RingBusy.
        """

        def settle() -> None:
            if self._header.form() is None:
                self._place.settle(layout)
                self._header.settle(to_json(layout), Ring(capacity=layout.rows))

        self._lock.run(deadline or self.deadline(), settle)

    def moment(self) -> Ring:
        """Return the ring as it is; `settle` was called. Without a lock, unless somebody has died."""
        ring = self._header.ring()
        if ring.claims and self._clock.now() >= self._look_at:
            ring = self._without_dead(ring)
        return ring

    def now(self) -> Ring:
        """Return the ring as it is, and ask for nobody's life; never waits."""
        return self._header.ring()

    def claim(
        self, rows: int, begun: list[Claim] | None = None, deadline: Deadline | None = None
    ) -> Claim:
        """Return a claim of the next rows, for which there is memory.

        `begun` gets it before anybody else can see it: whoever fails from there on has to `give_up`.

        Raises:
            NoRoom: nothing was claimed.
            RingBusy: others claim what this would write over, and did not commit it in time.
        """
        return self._claimed(rows, [] if begun is None else begun, deadline, [])

    def claim_all(self, begun: list[Claim], before: list[Ring], deadline: Deadline) -> Claim:
        """Return a claim of all slots; `before` gets the ring as it was then, and `begun` the claim, as by `claim`.

        Raises:
            NoRoom, RingBusy: as by `claim`.
        """
        layout = self.layout
        assert layout is not None
        return self._claimed(layout.rows, begun, deadline, before)

    def commit(self, claim: Claim, deadline: Deadline | None = None) -> None:
        """Let readers have what was claimed; it waits for the lock a second at least.

        Raises:
            NotClaimed: it is not in flight.
            RingBusy.
        """
        self._change(lambda ring: ring.commit(claim.start), deadline)

    def lose(self, claim: Claim) -> None:
        """Give up what was claimed.

        Raises:
            NotClaimed: it is not in flight.
            RingBusy.
        """
        self._change(lambda ring: ring.lose(claim.start))

    def give_up(self, begun: Collection[Claim]) -> None:
        """Lose what of these is in flight: within a second, or as soon as the ring can be had."""
        self._owed += begun
        if not self._owed:
            return
        with contextlib.suppress(RingBusy):
            self._lock.run(self._last(), self._pay)

    def put_back(self, claim: Claim, before: Ring) -> None:
        """Have rows there again that a claim of all slots took away, unless they were emptied meanwhile.

        Raises:
            RingBusy: then they are still away.
        """

        def change(now: Ring) -> Ring:
            if claim not in now.claims:
                return now
            if now.head != claim.stop:  # emptied
                return now.lose(claim.start)
            return replace(now.taking(before, before.whole), lost=before.lost)

        self._change(change, self._last())

    def empty(self, *, count: bool) -> None:
        """Drop all rows; `count`: and the count of what was written.

        Raises:
            RingBusy.
        """
        if self.layout is not None:
            self._change(lambda ring: ring.emptied(count=count))

    def flush(self) -> None:
        """Have the disk hold all that is committed."""
        self._place.flush()

    def lies_in(self, path: Path) -> bool:
        """Return whether its files are those of this directory."""
        return self._place.lies_in(path)

    def replace(self, change: Callable[[Ring], Ring], deadline: Deadline | None = None) -> None:
        """Switch to another ring; it waits for the lock as `commit` does.

        Raises:
            RingBusy.
        """
        self._change(change, deadline)

    def _claimed(
        self, rows: int, begun: list[Claim], deadline: Deadline | None, before: list[Ring]
    ) -> Claim:
        deadline = deadline or self.deadline()
        while True:
            ring = self.moment()
            if not self._has_room(ring, rows):
                self._make_room(min(ring.head + rows, ring.capacity), deadline)
            found = self._lock.run(deadline, lambda: self._attempt(rows, begun, before))
            if isinstance(found, Claim):
                return found
            if found is not None:
                self._wait(found, found.in_the_way(rows), deadline)

    def _attempt(self, rows: int, begun: list[Claim], before: list[Ring]) -> Claim | Ring | None:
        """Return a claim, the ring that has no place for it, or None: there is no room; under the lock."""
        ring = self._pay()
        if not self._has_room(ring, rows):  # others claimed meanwhile
            return None
        lost, ring = ring.lost, ring.with_at_most(CLAIMS_MAX - 1)
        if ring.in_the_way(rows) or len(ring.claims) >= CLAIMS_MAX:
            return ring
        try:
            before.append(ring)
            ring, claim = ring.claim(me(), rows)
            begun.append(claim)
            self._header.publish(ring)
        except BaseException:
            if begun and begun[-1] not in self._header.ring().claims:
                begun.pop()  # never seen: the next claim may begin there
            raise
        if ring.lost > lost:
            _log.warning(
                "%d rows were lost: they lay between more lost ones than can be told apart",
                ring.lost - lost,
            )
        return claim

    def _begin(self) -> None:
        if self._header.is_one:
            return

        def begin() -> None:
            if self._header.is_new:
                self._header.begin()

        self._lock.run(self.deadline(), begin)
        if not self._header.is_one:
            raise NotAStorage(
                f"{self._place.path} has no header of a storage, but of something else"
            )

    def _settlement(self) -> tuple[Layout, Columns] | None:
        if self._settled is None and (form := self._header.form()) is not None:
            layout = from_json(form)
            if data_size(self._place) < layout.size:
                self._mend(layout)
            self._place.try_to_map(layout)
            self._settled = layout, Columns(layout, self._place.data.map())
        return self._settled

    def _mend(self, layout: Layout) -> None:
        """Give the rows' file, which somebody has cut off, its size again; what was in the rest is lost."""

        def mend() -> None:
            if (size := data_size(self._place)) >= layout.size:
                return  # another process did it meanwhile, and may have claims in flight
            left = layout.rows_before(size)
            self._place.settle(layout)
            self._header.room = min(self._header.room, left)
            ring = self._header.ring()
            self._header.publish(ring.without_slots(left, layout.rows - left))
            lost = self._header.ring().lost - ring.lost
            _log.warning(
                "%d rows were lost: the file in %s ended at byte %d", lost, self._place.path, size
            )

        self._lock.run(self.deadline(), mend)

    def _last(self) -> Deadline:
        return Deadline.after(_LAST_S, self._clock)

    def _change(self, change: Callable[[Ring], Ring], deadline: Deadline | None = None) -> None:
        self._lock.run(
            (deadline or self.deadline()).later(self._last()),
            lambda: self._header.publish(change(self._header.ring())),
        )

    def _pay(self) -> Ring:
        """Give up what is owed, and return the ring as it is then; under the lock."""
        while self._owed:
            claim = self._owed[-1]
            with contextlib.suppress(NotClaimed):  # it was committed, or was never seen
                self._header.publish(self._header.ring().lose(claim.start))
                _log.warning("%d rows were lost: writing them failed", claim.rows)
            self._owed.remove(claim)  # not the last: another thread may have added its own
        return self._header.ring()

    def _has_room(self, ring: Ring, rows: int) -> bool:
        return min(ring.head + rows, ring.capacity) <= self._header.room

    def _make_room(self, rows: int, deadline: Deadline) -> None:
        layout = self.layout
        assert layout is not None

        def make_room() -> None:
            if (had := self._header.room) < rows:
                self._header.room = self._place.have_room(layout, had, rows)

        self._lock.run(deadline, make_room)

    def _wait(self, ring: Ring, in_the_way: tuple[Claim, ...], deadline: Deadline) -> None:
        if deadline.expired:
            if not in_the_way:
                raise RingBusy(
                    f"there are {len(ring.claims)} claims, in flight or lost: no more fit"
                )
            who = ", ".join(sorted({str(one.owner.pid) for one in in_the_way if one.owner}))
            rows = sum(one.rows for one in in_the_way)
            raise RingBusy(
                f"{rows} rows that would be written over are still claimed by process {who}"
            )
        deadline.pause(_PAUSE_S)

    def _without_dead(self, ring: Ring) -> Ring:
        self._look_at = self._clock.now() + LOOK_S
        mine = me()
        dead = {one for one in ring.owners if one != mine and not alive(one)}
        if not dead:
            return ring

        def lose() -> Ring:
            before = self._header.ring()
            ring = before.without(dead)
            if ring is not before:
                self._header.publish(ring)
                pids = ", ".join(str(one.pid) for one in dead)
                rows = ring.lost - before.lost
                _log.warning("%d rows were lost: process %s ended while it wrote them", rows, pids)
            return ring

        try:
            return self._lock.run(Deadline.after(0.0, self._clock), lose)
        except RingBusy:
            return ring  # reading goes on without the lock; the next look comes soon enough
