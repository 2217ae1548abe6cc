"""The sides that the benches of weights compare: each brings a new version to two workers a call."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import torch
from tensordict import TensorDict
from torch import multiprocessing as mp
from torch import nn
from torchrl.weight_update import MultiProcessWeightSyncScheme as TorchRLScheme

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_thread
from reference_impl.weights import (
    MultiProcessWeightSyncScheme,
    PolicyWorkers,
    SharedMemWeightSyncScheme,
)

Make = Callable[[], nn.Module]
SCHEMES = {"copy": MultiProcessWeightSyncScheme, "shared": SharedMemWeightSyncScheme}
WORKERS = 2


class Side(Protocol):
    """One way of bringing a version to workers."""

    def rest(self) -> None:
        """Do what comes before a send and is not measured: the trainer trains."""

    def send(self) -> object:
        """Bring the current version to all workers."""
        ...

    def close(self) -> None:
        """End what it started."""
        ...


class Ours:
    """The reference's schemes, over its own workers."""

    def __init__(self, scheme: str, make: Make, workers: int = WORKERS) -> None:
        self._trainer = make()
        self._scheme = SCHEMES[scheme]()
        self._scheme.init_on_sender(model=self._trainer, num_workers=workers)
        self._workers = PolicyWorkers(make, workers, scheme=self._scheme, start_method="fork")

    def rest(self) -> None:
        """Touch the weights."""
        for parameter in self._trainer.parameters():
            parameter.add_(1.0)

    def send(self) -> object:
        """Send them."""
        return self._scheme.send()

    def close(self) -> None:
        """Close the workers."""
        self._workers.close()


class OursInLoop(Ours):
    """The same, with workers that act all the time."""

    def __init__(self, scheme: str, make: Make) -> None:
        super().__init__(scheme, make)
        self._over = threading.Event()
        self._loop = start_thread(self._act, (), name="forward-loop")

    def _act(self) -> None:
        while not self._over.is_set():
            self._workers.forward()

    def close(self) -> None:
        """End the loop, then the workers."""
        self._over.set()
        self._loop.join(Deadline.after(10.0))
        super().close()


class Memcpy:
    """One copy of the weights, from memory to memory, by one thread."""

    def __init__(self, make: Make) -> None:
        size = sum(parameter.numel() for parameter in make().parameters())
        self._source, self._slots = torch.zeros(size), [torch.zeros(size) for _ in range(2)]

    def rest(self) -> None:
        """Touch the source, and turn to the other destination."""
        self._source.add_(1.0)
        self._slots.reverse()

    def send(self) -> object:
        """Copy."""
        return self._slots[0].copy_(self._source)

    def close(self) -> None:
        """Nothing was started."""


class BareFlip:
    """The least that it takes: one copy into shared memory, and a byte to each worker and back."""

    def __init__(self, make: Make) -> None:
        size = sum(parameter.numel() for parameter in make().parameters())
        self._source = torch.zeros(size)
        self._slots = [torch.zeros(size) for _ in range(2)]
        for slot in self._slots:
            slot.share_memory_()  # type: ignore[no-untyped-call]  # torch does not annotate it
        self._pipes = [os.pipe() for _ in range(2 * WORKERS)]
        self._pids = [self._fork(worker) for worker in range(WORKERS)]

    def _fork(self, worker: int) -> int:
        pid = os.fork()  # noqa: TID251 - nothing else is as bare
        while not pid:
            try:
                slot = os.read(self._pipes[2 * worker][0], 1)[0]
                self._slots[slot][-1].item()
                os.write(self._pipes[2 * worker + 1][1], b"x")
            except BaseException:  # noqa: BLE001 - the last frame of a process that was forked
                os._exit(1)
        return pid

    def rest(self) -> None:
        """Touch the weights."""
        self._source.add_(1.0)

    def send(self) -> object:
        """Copy, tell, wait."""
        self._slots.reverse()
        self._slots[0].copy_(self._source)
        for told, _ in zip(self._pipes[::2], self._pids, strict=True):
            os.write(told[1], b"\0")
        return [os.read(answer[0], 1) for answer in self._pipes[1::2]]

    def close(self) -> None:
        """Kill the workers: they have nothing to clean up."""
        for pid in self._pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        for ends in self._pipes:
            for end in ends:
                os.close(end)


class Forwards:
    """A forward of a worker that stands alone."""

    def __init__(self, make: Make) -> None:
        self._model = make()

    def rest(self) -> None:
        """Nothing comes before it."""

    def send(self) -> object:
        """Act once."""
        with torch.no_grad():
            return self._model(None)

    def close(self) -> None:
        """Nothing was started."""


class TorchRL:
    """torchrl's scheme over queues, given one consolidated copy of the weights at each send.

    By itself it sends the trainer's own tensors, which are not copied at all.
    """

    def __init__(self, make: Make) -> None:
        self._trainer = make()
        self._weights = TensorDict.from_module(self._trainer)
        context: Any = mp.get_context("fork")
        self._scheme = TorchRLScheme()
        devices = [torch.device("cpu")] * WORKERS
        self._scheme.init_on_sender(model=make(), devices=devices, ctx=context)
        self._processes = [
            context.Process(target=_receive_for_ever, args=(self._scheme, make, w), daemon=True)
            for w in range(WORKERS)
        ]
        for process in self._processes:
            process.start()
        self._scheme.connect()

    def rest(self) -> None:
        """Touch the weights."""
        for parameter in self._trainer.parameters():
            parameter.add_(1.0)

    def send(self) -> object:
        """Consolidate and send; it returns when all workers have acknowledged."""
        self._scheme.send(self._weights.data.consolidate(share_memory=True))
        return None

    def close(self) -> None:
        """Kill the workers: they have nothing to clean up."""
        for process in self._processes:
            process.kill()
            process.join()


def _receive_for_ever(scheme: Any, make: Make, worker: int) -> None:
    torch.set_num_threads(1)
    model = make()
    scheme.init_on_receiver(model_id="policy", model=model, worker_idx=worker)
    scheme.connect(worker_idx=worker)
    threading.Event().wait()


def sends_by_cpu(side: Side, sends: int = 60) -> float:
    """Ms of the sending thread's CPU time a send: the least of several blocks."""
    found = []
    try:
        for _ in range(4):
            took = 0.0
            for _ in range(sends // 4):
                side.rest()
                before = time.thread_time()
                side.send()
                took += time.thread_time() - before
            found.append(took / (sends // 4) * 1e3)
    finally:
        side.close()
    return min(found)
