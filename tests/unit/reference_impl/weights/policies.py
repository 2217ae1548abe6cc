"""Policies and helpers of these tests: what a worker acts on can be read from what it returns."""

from __future__ import annotations

import os
import select
from typing import Any

import psutil
import torch
from torch import nn

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_thread
from reference_impl.weights import MultiProcessWeightSyncScheme, PolicyWorkers
from tests.patience import PATIENCE_S

WAIT_S = PATIENCE_S


class TwoReads(nn.Module):
    """Returns its two parameters and its buffer, read one after the other."""

    third: torch.Tensor

    def __init__(self, value=0.0) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.full((3,), value))
        self.second = nn.Parameter(torch.full((2, 2), value))
        self.register_buffer("third", torch.full((), value))

    def forward(self, _observation) -> Any:
        first = self.first[0].clone()
        self.between()
        return [first.item(), self.second[0, 0].item(), self.third.item()]

    def between(self) -> None:
        """Be overridden: runs between two reads."""


def weights(value) -> Any:
    return TwoReads(value).state_dict()


class Gate:
    """A place where a policy waits, over pipes: the worker may be a forked process or a thread."""

    def __init__(self) -> None:
        self.entered_r, self.entered_w = os.pipe()
        self.open_r, self.open_w = os.pipe()

    def pass_through(self) -> None:
        os.write(self.entered_w, b"e")
        os.read(self.open_r, 1)

    def wait_entered(self) -> None:
        assert select.select([self.entered_r], [], [], WAIT_S)[0]
        os.read(self.entered_r, 1)

    def open(self) -> None:
        os.write(self.open_w, b"o")

    def close(self) -> None:
        for fd in (self.entered_r, self.entered_w, self.open_r, self.open_w):
            os.close(fd)


class Gated(TwoReads):
    """Waits half-way through every forward while `held` is observed."""

    def __init__(self, gate) -> None:
        super().__init__()
        self.gate = gate
        self.held = False

    def forward(self, observation) -> Any:
        self.held = isinstance(observation, torch.Tensor)
        return super().forward(observation)

    def between(self) -> None:
        if self.held:
            self.gate.pass_through()


HOLD = torch.ones(())


class RaisesHalfWay(TwoReads):
    """Loads one parameter, then raises, if it is to become negative."""

    def load_state_dict(self, state_dict, strict=True, assign=False):  # noqa: FBT002 - as torch has it
        if state_dict["first"][0] < 0:
            with torch.no_grad():
                self.first.copy_(state_dict["first"])
            self.second = nn.Parameter(state_dict["second"])
            self.third.data = state_dict["third"]
            raise ValueError("half-way")
        return super().load_state_dict(state_dict, strict, assign)


class Call:
    """A call in a thread of its own, and what came of it."""

    def __init__(self, function, *args, **kwargs) -> None:
        self.result: Any = None
        self.error: Any = None
        self._thread = start_thread(self._run, (function, args, kwargs), name="call")

    def _run(self, function, args, kwargs) -> None:
        try:
            self.result = function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the caller looks at it
            self.error = error

    def wait(self) -> Any:
        assert self._thread.join(Deadline.after(WAIT_S))
        return self.result


def make_workers(
    factory,
    *,
    start_method,
    num_workers=2,
    value=0.0,
    kind=MultiProcessWeightSyncScheme,
    **options,
) -> Any:
    """Return workers and the scheme that brings them the weights of `TwoReads(value)`."""
    scheme = kind()
    scheme.init_on_sender(model=TwoReads(value), num_workers=num_workers)
    workers = PolicyWorkers(
        factory, num_workers, scheme=scheme, start_method=start_method, **options
    )
    return workers, scheme


def gone(pids) -> Any:
    """Whether all of these processes end within the time."""
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    return not psutil.wait_procs(processes, timeout=WAIT_S)[1]
