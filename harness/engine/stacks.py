"""Reads what py-spy prints of a process: its threads, their frames, and what each of them waits for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Wait = Literal["held", "lock", "event", "receive", "send", "join", "sleep", "unknown"]
"""What a thread waits for; `held`: at a sequence point, because the scenario says so."""

_THREAD = re.compile(r'^Thread (\S+) \((\w[^)]*)\)(?:: "(.*)")?$')
_FRAME = re.compile(r"^    (\S.*?) \(([^()]+):(\d+)\)$")
# Where blocking calls of the standard library are written.
_LIBRARY = re.compile(
    r"^(threading|queue|selectors|socket|ssl|subprocess|multiprocessing/|concurrent/|asyncio/)"
)
_GATE = ("Link.pass_gate", "harness/payloads/link.py")
_CALLS: dict[Wait, frozenset[str]] = {
    "receive": frozenset({"get", "recv", "recv_bytes", "_recv", "poll", "select", "accept"}),
    "send": frozenset({"put", "send", "send_bytes", "_send"}),
    "join": frozenset({"join", "_wait_for_tstate_lock", "communicate", "waitpid"}),
    "lock": frozenset({"acquire", "__enter__"}),
    "event": frozenset({"wait", "wait_for"}),
}
# Parts of the names of kernel functions in which a thread sleeps.
_KERNEL: tuple[tuple[str, Wait], ...] = (
    ("futex", "lock"),
    ("flock", "lock"),
    ("locks_lock", "lock"),
    ("setlk", "lock"),
    ("nanosleep", "sleep"),
    ("pipe_read", "receive"),
    ("data_wait", "receive"),
    ("read_generic", "receive"),
    ("recv", "receive"),
    ("poll", "receive"),
    ("select", "receive"),
    ("pipe_write", "send"),
    ("alloc_send", "send"),
    ("wait_for_wmem", "send"),
    ("do_wait", "join"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A Python frame: qualified name, file as py-spy shortens it, line."""

    name: str
    file: str
    line: int

    @property
    def library(self) -> bool:
        """Whether it belongs to what the standard library blocks in."""
        return _LIBRARY.match(self.file) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread with its frames, the innermost first; `tid` is 0 if it is not known."""

    tid: int
    name: str
    frames: tuple[Frame, ...]
    active: bool = False

    @property
    def main(self) -> bool:
        """Whether it is the main thread of its process."""
        return self.name == "MainThread"

    @property
    def entry(self) -> Frame | None:
        """The outermost frame that is not the standard library's: what the thread was started for."""
        return next((each for each in reversed(self.frames) if not each.library), None)


def threads(dump: str) -> tuple[Thread, ...]:
    """The threads of a `py-spy dump`; none if it says something else."""
    found: list[tuple[str, str, str, list[Frame]]] = []
    for line in dump.splitlines():
        if head := _THREAD.match(line):
            found.append((head[1], head[2], head[3] or "", []))
        elif found and (frame := _FRAME.match(line)):
            found[-1][3].append(Frame(name=frame[1], file=frame[2], line=int(frame[3])))
    return tuple(
        Thread(
            tid=int(tid) if tid.isdecimal() else 0,
            name=name,
            frames=tuple(frames),
            active=state.startswith("active"),
        )
        for tid, state, name, frames in found
    )


def waits_for(frames: Sequence[Frame], kernel: str) -> Wait:
    """What a thread waits for, by what it called and where the kernel has it.

    Args:
        frames: its frames, the innermost first; none if they are not known.
        kernel: the kernel function it sleeps in, empty if that is not known.
    """
    if any((frame.name, frame.file) == _GATE for frame in frames):
        return "held"
    below: Wait = next((wait for part, wait in _KERNEL if part in kernel), "unknown")
    library = _library(frames)
    if not library:
        return below
    if below == "lock" and library[0].file == "multiprocessing/queues.py":
        return "lock"  # of the queue: there is no semaphore below it that is not one
    called = [_last(frame.name) for frame in reversed(library)]
    for name in called:  # what was called first says what it is about
        if (library[0].file, name) == ("multiprocessing/connection.py", "wait"):
            return "receive"
        for wait, names in _CALLS.items():
            if name in names:
                return wait
    return "event" if below == "lock" else below


def place(frames: Sequence[Frame]) -> str:
    """`Connection.recv <- Pool.step (pool.py:88)`: what was called, and by which line.

    A probe's line to its cell is left out: it says where the probe is.
    """
    inside = [i for i, frame in enumerate(frames) if frame.file == _GATE[1]]
    frames = frames[inside[-1] + 1 :] if inside else frames
    if not frames:
        return ""
    library = _library(frames)
    caller = frames[len(library)] if len(library) < len(frames) else None
    if caller is None:
        return f"{library[-1].name} ({library[-1].file}:{library[-1].line})"
    where = f"{caller.name} ({caller.file}:{caller.line})"
    return f"{library[-1].name} <- {where}" if library else where


def depth(frames: Sequence[Frame]) -> int:
    """How many frames there are below what is called of the standard library."""
    return len(frames) - len(_library(frames))


def _library(frames: Sequence[Frame]) -> Sequence[Frame]:
    """The innermost frames that belong to the standard library."""
    ours = next((i for i, frame in enumerate(frames) if not frame.library), len(frames))
    return frames[:ours]


def _last(name: str) -> str:
    return name.rpartition(".")[2]
