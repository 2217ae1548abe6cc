"""Replay storage that many processes write, and nobody reads torn, behind torchrl's interfaces.

    storage = SharedStorage(100_000)                       # or SharedStorage(100_000, path="run/replay")
    buffer = SharedTensorDictReplayBuffer(storage=storage, batch_size=256)
    # in any process that got `buffer` among its arguments, or inherited it:
    buffer.extend(batch)
    buffer.sample()

- `SharedStorage(max_size, *, ndim=1, path=None, patience_s=10.0)`: the ring. `append(batch)`, `get(index, out=None)`,
  `len` (rows that can be read), `lost_rows`, `dumps` / `loads`, `state_dict` / `load_state_dict`, `flush`.
- `SharedWriter(without=())`: claims, writes, commits; for torchrl's own buffers too, together with a `collate_fn`.
  Their samplers are shown no moment of the storage, and know of no slot without a row: for one process, whose writes
  do not fail.
- `SharedReplayBuffer`, `SharedTensorDictReplayBuffer`: `storage=`, `reuse_samples=False`, and torchrl's arguments.
- Errors: `RowsMismatch` (nothing was written), `NoRoom` (disk or memory full), `RowsLost` (no such row), `RingBusy`
  (who has to come first did not, within `patience_s`, which is of the whole call; it is named), `NotAStorage`.

A batch is written whole or not at all. What a writer that died had claimed is lost: its slots hold
nothing, are not drawn, and are written again when the ring comes round; who comes by next, at most every
50 ms, finds it out, logs it to `reference_impl.storage`, and adds it to `lost_rows`.
"""

from reference_impl.storage.buffers import SharedReplayBuffer, SharedTensorDictReplayBuffer
from reference_impl.storage.errors import NoRoom, NotAStorage, RingBusy, RowsLost, RowsMismatch
from reference_impl.storage.storage import SharedStorage
from reference_impl.storage.writer import SharedWriter

__all__ = [
    "NoRoom",
    "NotAStorage",
    "RingBusy",
    "RowsLost",
    "RowsMismatch",
    "SharedReplayBuffer",
    "SharedStorage",
    "SharedTensorDictReplayBuffer",
    "SharedWriter",
]
