"""The reference's replay storage with one bug each: a class of it is replaced, in the process of the cell.

They fork only: a forked writer inherits the replacement, a spawned one would not.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch

from harness.adapters._reference_storage import CAPABILITIES, storage_port_of
from harness.adapters.reference import backend
from harness.ports.backend import Backend
from harness.ports.storage import StoragePort
from reference_impl.core.clock import Deadline
from reference_impl.storage import SharedReplayBuffer, SharedStorage, storage
from reference_impl.storage.owners import alive, me
from reference_impl.storage.ring import Claim, Ring
from reference_impl.storage.shared_ring import SharedRing
from reference_impl.storage.view import View

_FORKING = replace(CAPABILITIES, setup={**CAPABILITIES.setup, "start_method": frozenset({"fork"})})


def _backend(name: str, port: StoragePort) -> Backend:
    return replace(
        backend, name=name, version=lambda: "planted", pool=None, weights=None, storage=port
    )


def planted(
    name: str,
    *,
    wrong: type | None = None,
    where: ModuleType = storage,
    make_storage: Callable[..., Any] = SharedStorage,
    make_buffer: Callable[..., Any] = SharedReplayBuffer,
) -> Backend:
    """The reference in which `where` uses `wrong` instead of its base class, or that is made otherwise."""

    def make(*args: Any, **options: Any) -> Any:
        if wrong is not None:
            base = wrong.__bases__[0]
            for module in (where, sys.modules[base.__module__]):  # where points are looked for, too
                setattr(module, base.__name__, wrong)
        return make_storage(*args, **options)

    return _backend(name, storage_port_of(make, make_buffer, _FORKING))


class _CountsClaims(SharedStorage):
    def __len__(self) -> int:
        """How many elements were ever claimed."""
        return self.view().shape.numel() if self.initialized else 0


class _Unmarked(View):
    """Takes every claimed slot for a row."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._closed = ()


class _Unpublished(SharedRing):
    """Says what it has claimed once it is written: until then it is another's, too."""

    def claim(
        self, rows: int, begun: list[Claim] | None = None, deadline: Deadline | None = None
    ) -> Claim:
        """Look where the next rows go."""
        del begun  # nothing is in flight
        deadline = deadline or self.deadline()
        ring = self.moment()
        if not self._has_room(ring, rows):
            self._make_room(min(ring.head + rows, ring.capacity), deadline)
        return self._header.ring().claim(me(), rows)[1]

    def commit(self, claim: Claim, deadline: Deadline | None = None) -> None:
        """Claim and commit."""

        def change(ring: Ring) -> Ring:
            ring, mine = ring.claim(me(), claim.rows)
            return ring.commit(mine.start)

        self._change(change, deadline)


class _Uncut(View):
    """Does not tell samplers where the newest row is."""

    @property
    def _last_cursor_index(self) -> int | None:
        return None


class _WaitsForTheDead(SharedRing):
    def _without_dead(self, ring: Ring) -> Ring:
        """Whoever has claimed will commit."""
        return ring


class _AcceptsTails(SharedRing):
    """Takes what was in flight when all were killed for written."""

    def _without_dead(self, ring: Ring) -> Ring:
        if self._place.path is None:
            return super()._without_dead(ring)
        gone = {one for one in ring.owners if one != me() and not alive(one)}
        self._change(
            lambda now: replace(
                now, claims=tuple(one for one in now.claims if one.owner not in gone)
            )
        )
        self._look_at = 0.0  # so that who reads first meets it, and not who happens to look
        return self._header.ring()


class _OneEnvARow(SharedStorage):
    """Lays rows out as if each were of one env."""

    def append(self, data: Any) -> torch.Tensor:
        """Write each env's element as a row."""
        if self.ndim > 1:
            data = data.reshape(-1).unsqueeze(1)
        return super().append(data)


class _LosesPrefetched(SharedReplayBuffer):
    """Drops every third sample that was drawn ahead."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._calls = itertools.count(1)

    def sample(self, *args: Any, **options: Any) -> Any:
        """The next one, or the one after it."""
        if self._prefetch and next(self._calls) % 3 == 0:
            super().sample(*args, **options)
        return super().sample(*args, **options)


class _Backwards(SharedStorage):
    def append(self, data: Any) -> torch.Tensor:
        """Write a batch from its last row on, where it goes over the ring's end."""
        layout = self.shared.layout
        if layout is not None:
            head = self.shared.moment().head % layout.rows
            if head + len(data) > layout.rows:
                data = data.flip(0)
        return super().append(data)


class _WithoutOldest(SharedStorage):
    def loads(self, path: Any) -> None:
        """Bring back all but the oldest row."""
        super().loads(path)
        ring = self.shared.moment()
        if ring.span:
            left = max(1, ring.span - 1)
            self.shared.replace(lambda now: now.without_slots(left, now.capacity - left))


length_before_write = planted("length_before_write", make_storage=_CountsClaims)
no_commit_mark = planted("no_commit_mark", wrong=_Unmarked)
two_on_one_claim = planted("two_on_one_claim", wrong=_Unpublished)
slice_across_the_cursor = planted("slice_across_the_cursor", wrong=_Uncut)
dead_claim_blocks = planted("dead_claim_blocks", wrong=_WaitsForTheDead)
torn_tail_accepted = planted("torn_tail_accepted", wrong=_AcceptsTails)
one_env_a_row = planted("one_env_a_row", make_storage=_OneEnvARow)
prefetched_lost = planted("prefetched_lost", make_buffer=_LosesPrefetched)
batch_backwards = planted("batch_backwards", make_storage=_Backwards)
oldest_not_loaded = planted("oldest_not_loaded", make_storage=_WithoutOldest)
