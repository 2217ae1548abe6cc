"""Where a fault of transfers strikes, in the words of the gate: ends and processes; and full channels."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from harness.model.gate import Side, TransferRule
from harness.payloads.ends import Pairs, name_of
from harness.ports.faults import TransferFault

CHUNK = 1 << 16  # bytes


def rule_of(fault: TransferFault, subject: Any, pairs: Pairs, num_workers: int) -> TransferRule:
    """The rule that has this fault carried out.

    Args:
        fault: which.
        subject: the backend's object, with the port's `transfer_ends` and `worker_pids`.
        pairs: the other sides of duplex pipes.
        num_workers: as many ends as there are workers, or envs, are one each; else they are shared.

    Raises:
        OSError: an end is closed.
    """
    role, _, index = fault.role.partition(":")
    side: Side = "owner" if role == "driver" else "worker"
    ends: dict[str, int | None] = {}
    found = list(subject.transfer_ends(fault.channel, side))
    for env, end in enumerate(found):
        name = name_of(end)
        ends |= dict.fromkeys((name, pairs.other(name)), env if len(found) == num_workers else None)
    workers = {str(pid): worker for worker, pid in enumerate(subject.worker_pids())}
    pids: dict[str, int | None] = {**workers}
    if side == "owner" or not workers:
        pids = {str(os.getpid()): None}
    if index and workers:
        pids = {pid: worker for pid, worker in pids.items() if worker == int(index)}
    elif index:  # a worker that is a thread is told by its end
        ends = {name: env for name, env in ends.items() if env == int(index)}
    return TransferRule(
        fault=fault.id,
        op=fault.fault,
        side=side,
        transfer="put" if fault.puts else "get",
        k=fault.k,
        ends=ends,
        pids=pids,
        seconds=getattr(fault, "seconds", 0.0),
    )


def fill(fd: int) -> int:
    """Write zeros to a pipe or socket until not one more byte fits; how many that were.

    Raises:
        OSError: it is closed.
    """
    total = 0
    blocking = os.get_blocking(fd)
    os.set_blocking(fd, False)
    try:
        for size in (CHUNK, 1):
            with contextlib.suppress(BlockingIOError):
                while True:
                    total += os.write(fd, bytes(size))
    finally:
        os.set_blocking(fd, blocking)
    return total
