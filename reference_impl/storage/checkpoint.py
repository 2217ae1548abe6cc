"""What a storage holds, kept and brought back while others go on writing.

A dump is a storage on disk: `SharedStorage(path=...)` opens it, too. It holds the rows of the moment
in which it was asked for, in their slots, but for those that were written over before they had
been copied: oldest rows are copied first, so that these are few.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from reference_impl.storage import replacing
from reference_impl.storage.errors import NotAStorage, RowsMismatch
from reference_impl.storage.layout import entries_of, from_json, to_json
from reference_impl.storage.ring import Ring

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tensordict import TensorDictBase

    from reference_impl.storage.layout import Layout
    from reference_impl.storage.ring import Claim
    from reference_impl.storage.storage import SharedStorage
    from reference_impl.storage.view import View

_CHUNK_BYTES: Final = 1 << 24


def dump(storage: SharedStorage, path: str) -> None:
    """Write what there is to a directory; a dump that is there can be loaded until the new one can.

    That holds whoever is killed, and when. Other files in the directory stay.

    Raises:
        NoRoom: the disk is full; what was in the directory before is still there.
        NotAStorage: something else is there, under the name of a file of a dump.
        ValueError: it is where the storage itself lies, which `flush` keeps.
    """
    folder = _elsewhere(storage, path)
    with replacing.making(folder, storage.shared.deadline()) as made:
        copy = type(storage)(storage.max_size, ndim=storage.ndim, path=made)
        if (layout := storage.shared.layout) is not None:
            view = storage.view()
            _fill(copy, layout, view.ring, _runs(view, layout))
        copy.flush()


def load(storage: SharedStorage, path: str) -> None:
    """Replace what there is by a dump; rows go to the slots that they had.

    Others find no rows while it goes on. It waits for the claims in flight, and later ones wait for it.
    The dump is looked at before anything is dropped, all of its rows are read once more than needed, and nothing
    has changed if this raises: but for an interrupt, or memory that is short, while rows are
    copied. Then those that were not yet written over are there, and the others are lost. If the process
    is killed meanwhile, all are.

    Raises:
        NotAStorage: the directory holds no dump, or a part of it is missing.
        RowsMismatch: it is of another capacity, or of other rows.
        NoRoom, RingBusy: there is no room for it, or others did not make way.
        OSError: the disk does not give it back.
        ValueError: it is where the storage itself lies.
    """
    folder = _elsewhere(storage, path)
    replacing.check(folder)
    kept = type(storage)(storage.max_size, ndim=storage.ndim, path=folder)
    if (layout := kept.shared.layout) is None:
        return storage.shared.empty(count=True)
    view = kept.view()
    return _fill(storage, layout, view.ring, _runs(view, layout))


def state_of(storage: SharedStorage) -> dict[str, Any]:
    """Return what there is, in memory: rows [n], where they begin, and the ring's numbers."""
    layout = storage.shared.layout
    if layout is None:
        return {"form": None}
    view = storage.view()
    found = list(_runs(view, layout))
    return {
        "form": to_json(layout),
        "head": view.ring.head,
        "base": view.ring.base,
        "written": view.ring.written,
        "runs": [(start, len(rows)) for start, rows in found],
        "rows": torch.cat([rows for _, rows in found]) if found else None,
    }


def restore(storage: SharedStorage, state: dict[str, Any]) -> None:
    """Replace what there is by what `state_of` returned, as `load` does.

    Raises:
        NotAStorage: it is something else.
        RowsMismatch, NoRoom, RingBusy: as by `load`.
    """
    if "form" not in state:
        raise NotAStorage(f"the state of a storage has a form, got {sorted(map(str, state))}")
    if state["form"] is None:
        return storage.shared.empty(count=True)
    layout = from_json(state["form"])
    storage.check(layout)
    ring = Ring(
        capacity=layout.rows, head=state["head"], base=state["base"], written=state["written"]
    )
    starts = [start for start, _ in state["runs"]]
    numbers = [number for _, number in state["runs"]]
    rows = state["rows"]
    if starts:
        entries_of(layout, rows, (sum(numbers),))
    _check_runs(ring, state["runs"])
    parts = rows.split(numbers) if starts else ()
    return _fill(storage, layout, ring, zip(starts, parts, strict=True))


def _elsewhere(storage: SharedStorage, path: str) -> Path:
    folder = Path(path).absolute()
    if storage.shared.lies_in(folder):
        raise ValueError(f"the storage itself lies in {folder}: it can be no dump of itself")
    return folder


def _check_runs(ring: Ring, runs: Sequence[tuple[int, int]]) -> None:
    at = ring.low
    for start, number in (*runs, (ring.head, 0)):
        if start < at or number < 0:
            raise NotAStorage(f"no storage has the rows {list(runs)} of {ring.low} to {ring.head}")
        at = start + number


def _fill(
    storage: SharedStorage, layout: Layout, ring: Ring, runs: Iterable[tuple[int, TensorDictBase]]
) -> None:
    """Replace what is in a storage by rows of another ring, each run at its position, oldest first."""
    shared = storage.shared
    deadline = shared.deadline()
    shared.settle(layout, deadline)
    columns = shared.columns
    assert columns is not None
    if shared.layout != layout:
        raise RowsMismatch(f"the rows, or their number, are others: {layout}, not {shared.layout}")
    begun: list[Claim] = []
    before: list[Ring] = []
    kept: list[tuple[int, int]] = []
    reached = ring.low  # the slots from there on to this are written over, or about to be
    try:
        # Before anything is dropped: there may be no room, or others in the way.
        shared.claim_all(begun, before, deadline)
        for start, rows in runs:
            entries = entries_of(layout, rows, (len(rows),))
            reached = start + len(rows)
            columns.write(start % layout.rows, entries, 0)
            kept.append((start, reached))
        shared.replace(lambda now: now.taking(ring, kept), deadline)
    except BaseException:
        try:
            if begun:
                left = before[-1].without_slots(ring.low % layout.rows, reached - ring.low)
                shared.put_back(begun[-1], left)
        finally:
            shared.give_up(begun)
        raise


def _runs(view: View, layout: Layout) -> Iterator[tuple[int, TensorDictBase]]:
    """Yield positions, and the rows from there on, oldest first, a bounded number at a time."""
    most = max(1, _CHUNK_BYTES // max(1, sum(one.nbytes for one in layout.columns)))
    for start, stop in view.ring.whole:
        for first in range(start, stop, most):
            last = min(first + most, stop)
            rows = view.get_rows(torch.arange(first, last) % layout.rows)
            left = max(first, view.low())  # what came before was written over meanwhile
            if left < last:
                yield left, rows[left - first :]
