"""Says of a hung cell which of its processes left its expected state first, and what it waits for.

Expected is that a worker waits for its next command and the driver for a reply. A process that is
stopped, dead, busy, or waits for anything else has left that state; where several have, the one
that others may be waiting for comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from harness.engine import census
from harness.engine.stacks import Thread, Wait, depth, place, threads, waits_for
from harness.engine.watchdog import Seen

Condition = Literal["stopped", "dead", "spinning", "astray"] | Wait

ENDING = frozenset({"shutdown", "release", "replace", "collect_garbage", "leave"})
"""Operations in which a worker may well be gone."""
SAYS: Mapping[Condition, str] = {
    "stopped": "is stopped",
    "dead": "is dead",
    "spinning": "spins",
    "held": "is held by the scenario",
    "lock": "waits for a lock",
    "event": "waits to be notified",
    "receive": "waits to receive",
    "astray": "waits to receive, but not where the other workers do,",
    "send": "waits to send",
    "join": "waits for something to end",
    "sleep": "sleeps",
    "unknown": "waits",
}
# The order in which conditions of a worker explain those of others.
_WORKER: tuple[Condition, ...] = (
    "stopped",
    "dead",
    "held",
    "spinning",
    "sleep",
    "send",
    "join",
    "unknown",
    "lock",
)  # fmt: skip - one line reads as an order
_DRIVER_FIRST: tuple[Condition, ...] = ("stopped",)
_OF_A_THREAD: tuple[Condition, ...] = ("held", "lock", "send")  # other threads may idle otherwise
_CLEAR = len(_WORKER)  # ranks below it come before whatever the driver does


@dataclass(slots=True)
class Witness:
    """What the journal says about who is who.

    Attributes:
        pids: the process of each role, the latest.
        last_ns: when each role was last heard of.
        killed: workers that a fault has signalled.
        open: the calls that are open, by id.
    """

    pids: dict[str, int] = field(default_factory=dict)
    last_ns: dict[str, int] = field(default_factory=dict)
    killed: set[str] = field(default_factory=set)
    open: dict[int, str] = field(default_factory=dict)

    def note(self, event: Mapping[str, Any]) -> None:
        """Take one event of the journal.

        Raises:
            KeyError, TypeError, ValueError: it is not one of ours.
        """
        role, kind = str(event["role"]), event["kind"]
        if role != "guardian":
            self.pids[role], self.last_ns[role] = int(event["pid"]), int(event["ts"])
        if kind == "invoke":
            self.open[event["id"]] = str(event["op"])
        elif kind in ("ok", "fail", "info"):
            self.open.pop(event["id"], None)
        elif (
            kind == "fault"
            and event["op"] in ("signal", "kill")
            and event["data"]["record"] == "reached"
        ):
            self.killed.add(f"worker:{event['data'].get('worker', 0)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One process of a hung cell: who it is, how it is, and where."""

    role: str
    pid: int
    condition: Condition
    where: str = ""
    last_ns: int = 0
    parent: str = ""
    depth: int = 0

    @property
    def driver(self) -> bool:
        """Whether it is the driver."""
        return self.role == "driver"

    @property
    def worker(self) -> bool:
        """Whether it is a worker."""
        return self.role.startswith("worker")

    def sentence(self) -> str:
        """`worker 1 (pid 57) waits for a lock in step (pool.py:88)`."""
        name = f"{_called(self.role)} (pid {self.pid})"
        if self.role.startswith("pid:"):
            name = f"process {self.pid}" + (
                f", a child of {_called(self.parent)}," if self.parent else ""
            )
        return f"{name} {SAYS[self.condition]}" + (f" in {self.where}" if self.where else "")


def _called(role: str) -> str:
    kind, _, index = role.partition(":")
    if kind == "beside":
        return f"worker {index} of the second pool"
    return f"worker {index}" if kind == "worker" else f"the {kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The role that left its expected state first, and one sentence."""

    first: str
    waits_for: str


def diagnose(seen: Sequence[Seen], dumps: Mapping[int, str], witness: Witness) -> Diagnosis | None:
    """Look at every process of a cell; None if there is none.

    Args:
        seen: the processes, as sampled.
        dumps: their stacks as py-spy printed them, as far as it could.
        witness: who they are.
    """
    roles = {pid: role for role, pid in reversed(witness.pids.items())}
    if "driver" in witness.pids:
        roles[witness.pids["driver"]] = "driver"
    alive = {each.pid for each in seen}
    found = [_found(each, dumps.get(each.pid, ""), roles, witness) for each in seen]
    found += [
        Found(role=role, pid=pid, condition="dead", last_ns=witness.last_ns[role])
        for pid, role in roles.items()
        if pid not in alive and not census.is_alive(pid)
    ]
    return conclude(found, witness)


def conclude(found: Sequence[Found], witness: Witness) -> Diagnosis | None:
    """Choose the first of them, and say what it and the driver do."""
    if not found:
        return None
    ending = any(op in ENDING for op in witness.open.values())
    found = _astray(found)
    may_be_dead = frozenset(witness.pids) - witness.killed if ending else frozenset()
    first = min(found, key=lambda each: (*_rank(each, may_be_dead), each.last_ns, each.pid))
    parts = [first.sentence()]
    if first.driver:
        idle = [each for each in found if each is not first and each.condition == "receive"]
        if first.condition == "receive":
            parts.append("nobody is about to send" if idle else "no other process is there")
    else:
        parts += [each.sentence() for each in found if each.driver]
    return Diagnosis(first=first.role, waits_for="; ".join(parts))


def _astray(found: Sequence[Found]) -> Sequence[Found]:
    """Mark workers that receive deeper in their code than others: it is not a command they wait for."""
    idle = [each.depth for each in found if each.worker and each.condition == "receive"]
    return [
        replace(each, condition="astray")
        if each.worker and each.condition == "receive" and each.depth > min(idle)
        else each
        for each in found
    ]


def _rank(each: Found, may_be_dead: frozenset[str]) -> tuple[int, int]:
    """Smaller: it explains more of what the others do; the second number is about who it is."""
    who = 0 if each.worker else 1 if each.driver else 2
    if each.driver:
        if each.condition in _DRIVER_FIRST:
            return _WORKER.index(each.condition), who
        return _CLEAR + (3 if each.condition == "receive" else 0), who
    if each.condition == "dead" and each.role in may_be_dead:
        return _CLEAR + 2, who
    if each.condition in _WORKER:
        return _WORKER.index(each.condition), who
    return _CLEAR + (1 if each.condition in ("event", "astray") else 4), who


def _found(each: Seen, dump: str, roles: Mapping[int, str], witness: Witness) -> Found:
    role = roles.get(each.pid, f"pid:{each.pid}")
    stack = threads(dump)
    condition, where = _condition(each, stack)
    return Found(
        role=role,
        pid=each.pid,
        condition=condition,
        where=where,
        last_ns=witness.last_ns.get(role, 0),
        parent=roles.get(census.parent(each.pid), ""),
        depth=max((depth(thread.frames) for thread in stack if thread.main), default=0),
    )


def _condition(each: Seen, stack: Sequence[Thread]) -> tuple[Condition, str]:
    """How a process is: by its main thread, unless that waits for another that is worse off."""
    main = next((thread for thread in stack if thread.main), stack[0] if stack else None)
    frames = main.frames if main else ()
    others = [thread for thread in stack if thread is not main]
    if each.hang == "frozen":
        return "stopped", place(frames)
    if each.hang == "spinning":
        busy = next((thread for thread in others if thread.active), None)
        idle = main is not None and not main.active
        return "spinning", _where(busy) if busy and idle else place(frames)
    wait = waits_for(frames, kernel(each.pid))
    if wait in ("receive", "join", "event", "unknown"):
        waits = [
            (thread, waits_for(thread.frames, kernel(each.pid, thread.tid))) for thread in others
        ]
        for thread, other in waits:
            if other in _OF_A_THREAD:
                return other, _where(thread)
        for thread, other in waits:
            if _strayed(thread, others):
                return "astray" if other == "receive" else other, _where(thread)
    return wait, place(frames)


def _strayed(thread: Thread, others: Sequence[Thread]) -> bool:
    """Whether it is deeper in its code than another thread that was started for the same."""
    peers = [each for each in others if _started_for(each) == _started_for(thread)]
    return any(depth(each.frames) < depth(thread.frames) for each in peers)


def _started_for(thread: Thread) -> tuple[str, str] | None:
    entry = thread.entry
    return (entry.name, entry.file) if entry else None


def _where(thread: Thread) -> str:
    return f"{place(thread.frames)}, thread {thread.name or thread.tid}"


def kernel(pid: int, tid: int = 0) -> str:
    """The kernel function that a thread sleeps in; empty if it runs, or we may not know."""
    path = Path(f"/proc/{pid}/task/{tid}/wchan" if tid else f"/proc/{pid}/wchan")
    try:
        return path.read_text()
    except OSError:
        return ""
