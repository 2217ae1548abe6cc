"""Where a fault of transfers strikes, in the words of the gate: ends and processes; and full channels."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from harness.model.gate import Side, TransferRule
from harness.payloads.ends import Pairs, name_of
from harness.ports.faults import TransferFault

CHUNK = 1 << 16  # bytes


def rule_of(
    fault: TransferFault, subject: Any, pairs: Pairs, count: int, envs_per_worker: int = 1
) -> TransferRule:
    """The rule that has this fault carried out.

    Args:
        fault: which.
        subject: the backend's object, with the port's `transfer_ends` and `worker_pids`.
        pairs: the other sides of duplex pipes.
        count: of envs, or of workers where there are none: as many ends as workers are one each;
            else they are shared.
        envs_per_worker: of a role all transfers of the worker that has its env are meant.

    Raises:
        OSError: an end is closed.
    """
    role, _, index = fault.role.partition(":")
    side: Side = "owner" if role == "driver" else "worker"
    ends: dict[str, int | None] = {}
    found = list(subject.transfer_ends(fault.channel, side))
    one_each = len(found) == -(-count // envs_per_worker)
    for worker, end in enumerate(found):
        name = name_of(end)
        whose = worker * envs_per_worker if one_each else None
        ends |= dict.fromkeys((name, pairs.other(name)), whose)
    by_env = [str(pid) for pid in subject.worker_pids()]
    workers = {pid: by_env.index(pid) for pid in by_env}
    pids: dict[str, int | None] = {**workers}
    if side == "owner" or not workers:
        pids = {str(os.getpid()): None}
    if index and workers:
        pids = {pid: int(index) for pid in by_env[int(index) : int(index) + 1]}
    elif index:  # a worker that is a thread is told by its end
        first = int(index) - int(index) % envs_per_worker
        ends = {name: int(index) for name, env in ends.items() if env == first}
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
