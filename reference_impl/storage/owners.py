"""Which process somebody is, and whether it is still there."""

from __future__ import annotations

import functools
import os
from typing import Final

from reference_impl.storage.ring import Owner

_BORN: Final = 19  # the field of /proc/PID/stat that says when, after the name in parentheses
_known: dict[int, Owner] = {}


def me() -> Owner:
    """Return this process."""
    pid = os.getpid()
    owner = _known.get(pid)
    if owner is None:
        _known.clear()  # what a parent knew of itself
        owner = _known[pid] = Owner(pid=pid, born=_born(_stat(pid)))
    return owner


def alive(owner: Owner) -> bool:
    """Return whether it can still write: it is there, not ended, and no other process has its number."""
    try:
        stat = _stat(owner.pid)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat[0] not in "ZX" and _born(stat) == owner.born


def _born(stat: list[str]) -> int:
    return int(stat[_BORN]) + _boot()


@functools.cache
def _boot() -> int:
    """Return what tells the starts of the machine apart, above the ticks of some 20 years."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return int(file.read()[:6], 16) << 36


def _stat(pid: int) -> list[str]:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()
