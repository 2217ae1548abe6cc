"""What a storage holds, kept and brought back while others go on writing.

A dump is a storage on disk: `SharedStorage(path=...)` opens it, too. It holds the rows of the moment
in which it was asked for, in their slots, but for those that were written over before they had
been copied: oldest rows are copied first, so that these are few.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from reference_impl.storage.errors import NotAStorage, RowsMismatch
from reference_impl.storage.layout import entries_of, from_json, to_json
from reference_impl.storage.places import HEADER_FILE
from reference_impl.storage.ring import Ring

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tensordict import TensorDictBase

    from reference_impl.storage.layout import Layout
    from reference_impl.storage.ring import Claim
    from reference_impl.storage.shared_ring import SharedRing
    from reference_impl.storage.storage import SharedStorage
    from reference_impl.storage.view import View

_CHUNK_BYTES: Final = 1 << 24


def dump(storage: SharedStorage, path: str) -> None:
    """Write what there is to a directory, which is replaced once all of it is there.

    Raises:
        NoRoom: the disk is full; what was in the directory before is still there.
    """
    path = str(Path(path))  # without a slash at its end: what is made lies beside it, not in it
    making = Path(f"{path}.making-{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    try:
        copy = type(storage)(storage.max_size, ndim=storage.ndim, path=making)
        if (layout := storage.shared.layout) is not None:
            view = storage.view()
            _fill(copy.shared, layout, view.ring, _runs(view, layout))
        copy.flush()
        shutil.rmtree(path, ignore_errors=True)
        making.rename(path)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def load(storage: SharedStorage, path: str) -> None:
    """Replace what there is by a dump; rows go to the slots that they had.

    Others find no rows while it goes on. It waits for the claims in flight, and later ones wait for it.

    Raises:
        NotAStorage: the directory holds no dump.
        RowsMismatch: it is of another capacity, or of other rows.
        NoRoom, RingBusy: there is no room for it, or others did not make way; nothing was changed.
    """
    if not (Path(path) / HEADER_FILE).is_file():
        raise NotAStorage(f"{path} holds no dump of a storage")
    kept = type(storage)(storage.max_size, ndim=storage.ndim, path=path)
    if (layout := kept.shared.layout) is None:
        return storage.shared.empty(count=True)
    view = kept.view()
    return _fill(storage.shared, layout, view.ring, _runs(view, layout))


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
    """Replace what there is by what `state_of` returned, as `load` does."""
    if state["form"] is None:
        return storage.shared.empty(count=True)
    layout = from_json(state["form"])
    ring = Ring(
        capacity=layout.rows, head=state["head"], base=state["base"], written=state["written"]
    )
    starts = [start for start, _ in state["runs"]]
    rows = state["rows"].split([rows for _, rows in state["runs"]]) if starts else ()
    return _fill(storage.shared, layout, ring, zip(starts, rows, strict=True))


def _fill(
    shared: SharedRing, layout: Layout, ring: Ring, runs: Iterable[tuple[int, TensorDictBase]]
) -> None:
    """Replace what is in `shared` by rows of another ring, each run at its position."""
    shared.settle(layout)
    columns = shared.columns
    assert columns is not None
    if shared.layout != layout:
        raise RowsMismatch(f"the rows, or their number, are others: {layout}, not {shared.layout}")
    begun: list[Claim] = []
    kept = []
    try:
        shared.claim(
            layout.rows, begun
        )  # before anything is dropped: there may be no room, or others in the way
        shared.empty(count=True)
        for start, rows in runs:
            entries = entries_of(layout, rows, (len(rows),))
            columns.write(start % layout.rows, entries, 0)
            kept.append((start, start + len(rows)))
        shared.replace(lambda now: now.taking(ring, kept))
    except BaseException:
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
