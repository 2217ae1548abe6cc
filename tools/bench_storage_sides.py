"""The sides that the bench of the storage compares: each writes or samples one batch a step."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.buffers import ReplayBuffer as SB3Buffer
from tensordict import TensorDict
from torchrl.data import LazyMemmapStorage, LazyTensorStorage, ReplayBuffer

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from reference_impl.storage import SharedReplayBuffer, SharedStorage
from tools.bench_sides import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is kept.

    Attributes:
        shape: of an observation.
        dtype: of its elements.
        batch: rows a step.
        capacity: rows in all.
        sample: whether steps sample; else they write.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    batch: int
    capacity: int
    sample: bool = False

    def rows(self) -> TensorDict:
        """Return one batch of transitions."""
        size = (self.batch, *self.shape)
        seen = (torch.rand(2, *size) * 255).to(self.dtype)
        following = {
            "observation": seen[1],
            "reward": torch.rand(self.batch, 1),
            "done": torch.zeros(self.batch, 1, dtype=torch.bool),
        }
        entries = {"observation": seen[0], "action": torch.rand(self.batch, 1), "next": following}
        return TensorDict(entries, batch_size=[self.batch])


class Steps:
    """A side made of a write and a sample, all of whose memory was touched once."""

    def __init__(
        self, work: Work, write: Callable[[], object], sample: Callable[[], object]
    ) -> None:
        for _ in range(-(-work.capacity // work.batch) + 1):
            write()
        self.step = sample if work.sample else write

    def close(self) -> None:
        """Nothing is left but memory."""


def ours(work: Work) -> Side:
    """The storage itself."""
    storage, rows = SharedStorage(work.capacity), work.rows()
    return Steps(work, lambda: storage.append(rows), lambda: storage.get(_drawn(work)))


def ours_reused(work: Work) -> Side:
    """The storage itself, whose samples are written over by the next."""
    storage, rows = SharedStorage(work.capacity), work.rows()
    storage.append(rows)
    out = storage.get(torch.zeros(work.batch, dtype=torch.int64))
    return Steps(work, lambda: storage.append(rows), lambda: storage.get(_drawn(work), out=out))


def torchrl(work: Work) -> Side:
    """Torchrl's storage itself."""
    storage, rows, cursor = LazyTensorStorage(work.capacity), work.rows(), [0]

    def write() -> None:
        slots = torch.arange(cursor[0], cursor[0] + work.batch) % work.capacity
        cursor[0] = (cursor[0] + work.batch) % work.capacity
        storage.set(slots, rows)

    return Steps(work, write, lambda: storage.get(_drawn(work)))


def our_buffer(work: Work) -> Side:
    """The storage behind `ReplayBuffer`."""
    buffer = SharedReplayBuffer(storage=SharedStorage(work.capacity), batch_size=work.batch)
    return _buffered(work, buffer)


def torchrl_buffer(work: Work, kind: type[LazyTensorStorage] = LazyTensorStorage) -> Side:
    """Torchrl's own."""
    return _buffered(work, ReplayBuffer(storage=kind(work.capacity), batch_size=work.batch))


def torchrl_memmap_buffer(work: Work) -> Side:
    """Torchrl's own, over memory maps."""
    return torchrl_buffer(work, LazyMemmapStorage)


def numpy_ring(work: Work, *, shared: bool = False) -> Side:
    """The least that it takes: an array an entry, and a cursor."""
    ring = _NumpyRing(work, shared=shared)
    return Steps(work, ring.write, ring.sample)


def numpy_ring_shared(work: Work) -> Side:
    """The least that it takes in memory that processes share."""
    return numpy_ring(work, shared=True)


def sb3(work: Work) -> Side:
    """Stable-Baselines3's replay buffer, of as many envs as there are rows in a batch."""
    image = work.dtype == torch.uint8
    space = gymnasium.spaces.Box(0, 255, work.shape, np.uint8 if image else np.float32)
    action = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    buffer = SB3Buffer(work.capacity, space, action, device="cpu", n_envs=work.batch)
    rows = {key: value.numpy() for key, value in work.rows().flatten_keys(".").items()}
    infos: list[dict[str, Any]] = [{} for _ in range(work.batch)]

    def write() -> None:
        seen, then = rows["observation"], rows["next.observation"]
        reward, done = rows["next.reward"][:, 0], rows["next.done"][:, 0]
        buffer.add(seen, then, rows["action"], reward, done, infos)

    return Steps(work, write, lambda: buffer.sample(work.batch))


class Writers:
    """Two processes that write a number of batches a step."""

    def __init__(self, writes: Sequence[Callable[[], object]], batches: int = 10) -> None:
        self._ends = []
        self._processes = []
        for write in writes:
            ours, theirs = Pipe()
            args = theirs, write, batches
            self._processes.append(start_process(_write, args, name="writer", start_method="fork"))
            theirs.close()
            self._ends.append(ours)

    def step(self) -> None:
        """Both write, and say that they have."""
        for end in self._ends:
            end.send("do")
        for end in self._ends:
            end.recv()

    def close(self) -> None:
        """Kill them: they have nothing to clean up."""
        for end, process in zip(self._ends, self._processes, strict=True):
            process.kill()
            process.join(Deadline.after(10.0))
            process.release()
            end.close()


def our_writers(work: Work) -> Side:
    """Two processes that write to one storage."""
    buffer = SharedReplayBuffer(storage=SharedStorage(work.capacity), batch_size=work.batch)
    return _two_writers(work, buffer)


def torchrl_writers(work: Work) -> Side:
    """Two processes that write to one shared buffer of torchrl's."""
    storage = LazyTensorStorage(work.capacity)
    buffer = ReplayBuffer(storage=storage, batch_size=work.batch, shared=True)
    buffer.extend(work.rows())
    storage._storage.share_memory_()  # noqa: SLF001 - what pickling it to a process does
    return _two_writers(work, buffer)


def numpy_writers(work: Work) -> Side:
    """Two processes that write to shared memory, each to a half that nobody else knows of."""
    half = Work(shape=work.shape, dtype=work.dtype, batch=work.batch, capacity=work.capacity // 2)
    rings = [_NumpyRing(half, shared=True) for _ in range(2)]
    for ring in rings:
        for _ in range(-(-half.capacity // half.batch)):
            ring.write()
    return Writers([ring.write for ring in rings])


class Beside:
    """A side while another process is at full speed."""

    def __init__(self, side: Side, other: Callable[[], object]) -> None:
        self._side = side
        self._other = Writers([lambda: _for_ever(other)])
        self._other._ends[0].send("do")  # noqa: SLF001 - starts it; nobody asks for the answer
        self.step = side.step

    def close(self) -> None:
        """End both."""
        self._other.close()
        self._side.close()


def writer_beside_a_reader(work: Work, *, own: bool) -> Side:
    """A writer, and a process that samples from what it writes, or from a storage of its own."""
    storage, rows = SharedStorage(work.capacity), work.rows()
    side = Steps(work, lambda: storage.append(rows), lambda: None)
    read = SharedStorage(work.capacity) if own else storage
    buffer = SharedReplayBuffer(storage=read, batch_size=work.batch)
    if own:
        for _ in range(-(-work.capacity // work.batch)):
            buffer.extend(rows)
    return Beside(side, buffer.sample)


class _NumpyRing:
    def __init__(self, work: Work, *, shared: bool = False) -> None:
        self._work = work
        self._rows = {key: value.numpy() for key, value in work.rows().flatten_keys(".").items()}
        self._arrays = {}
        for key, value in self._rows.items():
            shape = (work.capacity, *value.shape[1:])
            size = max(int(np.prod(shape)) * value.itemsize, 1)
            memory = mmap.mmap(-1, size) if shared else np.empty(size, np.uint8)
            self._arrays[key] = np.frombuffer(memory, value.dtype, int(np.prod(shape))).reshape(
                shape
            )
        self._cursor = 0

    def write(self) -> None:
        at, batch, capacity = self._cursor, self._work.batch, self._work.capacity
        first = min(batch, capacity - at)
        for key, array in self._arrays.items():
            array[at : at + first] = self._rows[key][:first]
            if first < batch:
                array[: batch - first] = self._rows[key][first:]
        self._cursor = (at + batch) % capacity

    def sample(self) -> dict[str, Any]:
        index = np.random.default_rng().integers(0, self._work.capacity, self._work.batch)
        return {key: array[index] for key, array in self._arrays.items()}


def _two_writers(work: Work, buffer: Any) -> Side:
    rows = work.rows()
    for _ in range(-(-work.capacity // work.batch)):
        buffer.extend(rows)
    return Writers([lambda: buffer.extend(rows)] * 2)


def _buffered(work: Work, buffer: Any) -> Side:
    rows = work.rows()
    return Steps(work, lambda: buffer.extend(rows), buffer.sample)


def _drawn(work: Work) -> torch.Tensor:
    return torch.randint(0, work.capacity, (work.batch,))


def _for_ever(call: Callable[[], object]) -> None:
    while True:
        call()


def _write(end: Connection, write: Callable[[], object], batches: int) -> None:
    torch.set_num_threads(1)
    while end.recv():
        for _ in range(batches):
            write()
        end.send("done")
