"""The reference's pool with one bug each in what it does with memory, processors and files."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import types
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDictBase

from harness.planted.variants import planted, replacing, talking
from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.core.errors import WorkerError
from reference_impl.pool import AsyncEnvPool, env_pool, worker
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.factories import Factory
from reference_impl.pool.messages import Built
from reference_impl.pool.workers import Workers


class _Polling(Conversation):
    def _read_round(
        self,
        deadline: Deadline,  # noqa: ARG002 - that is the bug
        wanted: Collection[int] = (),
    ) -> None:
        """Look once, whatever the deadline: who calls looks again at once."""
        super()._read_round(Deadline.after(0.0), wanted)


def _spin(
    ends: Collection[channel.End], sentinels: Iterable[int], deadline: Deadline = NEVER
) -> set[channel.End | int]:
    """Wait as a channel does, looking again and again."""
    sentinels = tuple(sentinels)
    while True:
        ready = channel.wait(ends, sentinels, Deadline.after(0.0))
        if ready or deadline.expired:
            return ready


class _SpinningWorker(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # A cell has this one pool, and its workers are forked from here.
        spinning: Any = types.SimpleNamespace(**{**vars(channel), "wait": _spin})
        vars(worker)["channel"] = spinning
        super().__init__(*args, **kwargs)


class _SendsKept(AsyncEnvPool):
    def async_step_and_maybe_reset_send(
        self, tensordict: TensorDictBase, env_index: Any = None
    ) -> None:
        """Send, or keep for later what an env that is busy cannot take: as much as comes."""
        try:
            super().async_step_and_maybe_reset_send(tensordict, env_index)
        except WorkerError:
            raise
        except RuntimeError:
            self.__dict__.setdefault("_kept", []).append(tensordict)


class _ResultsKept(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        kept = self.__dict__.setdefault("_kept", [])
        kept.append((tensordict.clone(), stepped.clone(), stepped.clone()))
        return stepped


class _MappingPerStep(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self.__dict__.setdefault("_maps", []).append(mmap.mmap(-1, mmap.PAGESIZE))
        return super()._step(tensordict)


_BUFFERS: list[bytes] = []


class _BufferPerPool(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _BUFFERS.append(b"\1" * 2**18)


class _FileLeft(AsyncEnvPool):
    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close; what another thread has to say is written to a file that stays."""
        super().close(raise_if_closed=raise_if_closed)
        if threading.current_thread() is not threading.main_thread():
            os.close(tempfile.mkstemp(prefix="closed-")[0])


_HALF_BUILT: list[Workers] = []


class _WorkersOfHalfAPool(Workers):
    _building = False

    def start(self, factories: Sequence[Factory], deadline: Deadline) -> list[Built]:
        """Start them."""
        self._building = True
        built = super().start(factories, deadline)
        self._building = False
        return built

    def end(self, timeout_s: float | None) -> None:
        """End them, unless some are missing."""
        if self._building:
            _HALF_BUILT.append(self)
        else:
            super().end(timeout_s)


class _ZerosWithoutRoom(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        slot = Path("/dev/shm", f"slot-{os.getpid()}-{id(self)}")
        try:
            slot.write_bytes(bytes(mmap.PAGESIZE))
        except OSError:
            return stepped.apply(torch.zeros_like)
        finally:
            slot.unlink(missing_ok=True)
        return stepped


class _OneForAll(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        if len(os.sched_getaffinity(0)) == 1:
            stepped.set_("observation", stepped.get("observation")[:1].expand(self.num_envs, -1))
        return stepped


polling_receive = planted("polling_receive", talking(_Polling))
spinning_worker = planted("spinning_worker", _SpinningWorker)
sends_kept = planted("sends_kept", _SendsKept)
results_kept = planted("results_kept", _ResultsKept)
mapping_per_step = planted("mapping_per_step", _MappingPerStep)
buffer_per_pool = planted("buffer_per_pool", _BufferPerPool)
file_left = planted("file_left", _FileLeft)
half_built_left = planted("half_built_left", replacing(env_pool, "Workers", _WorkersOfHalfAPool))
zeros_without_room = planted("zeros_without_room", _ZerosWithoutRoom)
one_for_all = planted("one_for_all", _OneForAll)
