"""Sends weights for long, while workers are killed, stopped and given what does not fit.

Usage: `python -m tools.long_sends [SENDS] [--seed N] [--scheme copy|shared|both]`. Prints one JSON object
a run; `problems` is empty, and the exit code 0, if no forward read two versions or one that it should
not have, no send said of a worker what was not so, and nothing is left.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import logging
import os
import random
import signal
import sys
import threading
from collections import Counter
from typing import Any, Final

import psutil
import torch
from torch import nn

from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.weights import (
    AnswerTimeout,
    MultiProcessWeightSyncScheme,
    PolicyWorkers,
    SharedMemWeightSyncScheme,
    WorkersFailed,
)

SCHEMES: Final = {"copy": MultiProcessWeightSyncScheme, "shared": SharedMemWeightSyncScheme}
WORKERS: Final = 3
NUMEL: Final = 20_000
CALL_S: Final = 20.0  # on a loaded machine, many times over
STOPPED_S: Final = 0.03  # how long the others are waited for while one is stopped
SLOTS_MAX: Final = WORKERS + 1 + 4  # versions in force, one, and what a stopped worker may read
SETTLE_S: Final = 10.0
RUN_S_MAX: Final = 600.0  # then stacks are printed and the run ends
PROBLEMS_MAX: Final = 20  # that are told


class Reads(nn.Module):
    """Returns the least and the most of everything that it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.large = nn.Parameter(torch.zeros(NUMEL), requires_grad=False)
        self.small = nn.Parameter(torch.zeros(3, dtype=torch.float64), requires_grad=False)
        self.register_buffer("count", torch.zeros(2, dtype=torch.int64))

    def forward(self, _observation: object) -> tuple[float, float]:
        """Read it, the large one last."""
        small = [*self.small.tolist(), *map(float, self.state_dict()["count"].tolist())]
        return min(*small, self.large.min().item()), max(*small, self.large.max().item())


def _fill(model: nn.Module, value: int) -> None:
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.fill_(value)


class Run:
    """One run: what each place may act on, and what was seen that it may not."""

    def __init__(self, scheme: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.trainer = Reads()
        self.scheme = SCHEMES[scheme]()
        self.scheme.init_on_sender(model=self.trainer, num_workers=WORKERS)
        self.workers = PolicyWorkers(
            Reads, WORKERS, scheme=self.scheme, start_method="fork", shutdown_timeout=3.0
        )
        self.may: list[set[int]] = [{0} for _ in range(WORKERS)]

    def step(self, value: int) -> None:
        """One send, with or without a fault, and a look at all workers."""
        kind = self.random.choices(
            ["send", "some", "later", "unfit", "killed", "killed later", "stopped"],
            [60, 12, 12, 10, 1, 1, 2],
        )[0]
        self.counts[kind] += 1
        targets = tuple(self.random.sample(range(WORKERS), self.random.randint(1, WORKERS)))
        act: Any = {
            "send": lambda: self.sent(value, range(WORKERS)),
            "some": lambda: self.sent(value, targets),
            "later": lambda: self.sent(value, targets, later=True),
            "unfit": lambda: self.unfit(value, targets),
            "killed": lambda: self.killed(value, later=False),
            "killed later": lambda: self.killed(value, later=True),
            "stopped": lambda: self.stopped(value),
        }[kind]
        act()
        self.look()

    def sent(self, value: int, targets: Any, *, later: bool = False) -> None:
        """A send that has to succeed; what the trainer does later is nobody's business."""
        _fill(self.trainer, value)
        send = self.scheme.send_async if later else self.scheme.send
        send(worker_ids=list(targets), timeout=CALL_S)
        _fill(self.trainer, -value)
        for worker in targets:
            self.may[worker] = {value, *(self.may[worker] if later else ())}
        if later:
            self.look()
            self.scheme.wait_async(timeout=CALL_S)
            for worker in targets:
                self.may[worker] = {value}

    def unfit(self, value: int, targets: tuple[int, ...]) -> None:
        """A send that every target has to refuse, and to be named."""
        wrong = {"large": torch.full((NUMEL,), float(value)), "small": torch.zeros(4)}
        named = self.failed(lambda: self.scheme.send(wrong, worker_ids=targets, timeout=CALL_S))
        if named != set(targets):
            self.problems.append(f"{value}: unfit for {targets}, told of {named}")

    def killed(self, value: int, *, later: bool) -> None:
        """A worker is killed before, or during, a send to all, and replaced."""
        worker = self.random.randrange(WORKERS)
        _fill(self.trainer, value)
        if later:
            self.scheme.send_async(timeout=CALL_S)
        os.kill(self.workers.worker_pids[worker], signal.SIGKILL)
        call = self.scheme.wait_async if later else self.scheme.send
        named = self.failed(lambda: call(timeout=CALL_S))
        if named - {worker} or (not later and not named):
            self.problems.append(f"{value}: {worker} was killed, told of {named}")
        self.workers.restart(worker, timeout=60.0)
        self.may = [{value} for _ in range(WORKERS)]

    def stopped(self, value: int) -> None:
        """A worker is stopped during a send to all, and goes on after it."""
        worker = self.random.randrange(WORKERS)
        pid = self.workers.worker_pids[worker]
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)  # it was sent: now it has struck
        _fill(self.trainer, value)
        named = self.failed(lambda: self.scheme.send(timeout=STOPPED_S))
        os.kill(pid, signal.SIGCONT)
        if worker not in named:
            self.problems.append(f"{value}: {worker} was stopped, told of {named}")
        for place in range(WORKERS):
            late = place in named
            self.may[place] = {value, *(self.may[place] if late else ())}

    def failed(self, call: Any) -> set[int]:
        """The workers that a call tells of."""
        try:
            call()
        except WorkersFailed as error:
            return {each.worker for each in error.failures}
        except AnswerTimeout as error:
            return set(error.workers)
        except (WorkerDied, WorkerError) as error:
            return {error.worker}
        return set()

    def look(self) -> None:
        """Have every worker act, and compare with what it may act on; versions never go back."""
        for worker, (least, most) in enumerate(self.workers.forward(timeout=CALL_S)):
            if least != most:
                self.counts["torn"] += 1
                self.problems.append(f"worker {worker} read {least} and {most}")
            elif least not in self.may[worker]:
                self.counts["wrong"] += 1
                self.problems.append(f"worker {worker} read {least}, not of {self.may[worker]}")
            else:
                self.may[worker] = {value for value in self.may[worker] if value >= least}
        if self.scheme.sender.slot_count > SLOTS_MAX:
            self.problems.append(f"{self.scheme.sender.slot_count} slots")


def run(sends: int, seed: int, scheme: str) -> dict[str, Any]:
    """Send so many versions; return what was seen."""
    before = _left()
    running = Run(scheme, seed)
    try:
        for value in range(1, sends + 1):
            running.step(value)
            if len(running.problems) >= PROBLEMS_MAX:
                break
    finally:
        running.workers.close()
    problems, counts = running.problems, running.counts
    del running
    problems += _beyond(before)
    return {
        "scheme": scheme,
        "sends": sends,
        "seed": seed,
        "faults": dict(counts),
        "problems": problems[:PROBLEMS_MAX],
    }


def _left() -> tuple[int, int, int]:
    gc.collect()
    me = psutil.Process()
    return me.num_fds(), me.num_threads(), len(me.children())


def _beyond(before: tuple[int, int, int]) -> list[str]:
    """What there is more of than before, once the time to settle is over."""
    deadline, pause = Deadline.after(SETTLE_S), threading.Event()
    names = ("descriptors", "threads", "children")
    while True:
        more = [now - then for then, now in zip(before, _left(), strict=True)]
        if deadline.expired or not any(count > 0 for count in more):
            return [f"left: {c} {name}" for c, name in zip(more, names, strict=True) if c > 0]
        pause.wait(0.1)


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return 0 if there was no problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sends", nargs="?", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scheme", choices=[*SCHEMES, "both"], default="both")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    logging.disable()  # refusals are what is looked for
    faulthandler.dump_traceback_later(RUN_S_MAX, exit=True)
    found = []
    for scheme in SCHEMES if given.scheme == "both" else [given.scheme]:
        found.append(run(given.sends, given.seed, scheme))
        print(json.dumps(found[-1]), flush=True)
    faulthandler.cancel_dump_traceback_later()
    return 1 if any(each["problems"] for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
