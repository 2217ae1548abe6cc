"""Duplex channels by value; all input and output of the reference goes through these functions.

Callers write `channel.send(end, message)`, never a bound copy, so that one wrapper around `send`,
`recv` or `close` sees every transfer. Nothing here blocks but `wait` and the functions that say so,
each up to a deadline:

- `send` writes what the peer's buffer takes and keeps the rest; every later `wait` or `flush` goes
  on with it.
- `wait` reads ahead: an end is ready once a *whole* message is here (or it is over), so that `recv`
  does not hang on half a message of a peer that was killed while it wrote.

One thread at a time may wait on and receive from an end; any thread may send, flush or close.
A thread's end hands over the very object that was sent: whoever sends gives it up.
"""

from __future__ import annotations

import contextlib
import select
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any, Final, Literal

from reference_impl.core.clock import NEVER, Deadline
from reference_impl.core.ends import ChannelClosed, End, ProcessEnd, ThreadEnd
from reference_impl.core.holds import held

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["ChannelClosed", "End", "abandon", "close", "flush", "pair", "recv", "send", "wait"]

_READ: Final = select.POLLIN | select.POLLHUP | select.POLLERR


def pair(kind: Literal["process", "thread"]) -> tuple[End, End]:
    """Return the two ends of a new channel: the owner's and the worker's.

    Raises:
        ValueError: `kind` is neither.
    """
    if kind == "process":
        ours, theirs = Pipe(duplex=True)
        return ProcessEnd(ours), ProcessEnd(theirs)
    if kind == "thread":
        owner, worker = ThreadEnd(), ThreadEnd()
        owner.join_to(worker)
        worker.join_to(owner)
        return owner, worker
    raise ValueError(f"kind must be 'process' or 'thread', got {kind!r}")


def send(end: End, message: object) -> None:
    """Send `message`; what the peer does not take now goes out in later `wait`s or `flush`es.

    Raises:
        ChannelClosed: at once, if either side has closed the channel.
        Exception: whatever pickling the message raises; nothing was sent then.
    """
    if end.closed:
        raise ChannelClosed("the channel is closed")
    end.put(message)


def recv(end: End) -> Any:
    """Return the next message; waits for it only if `wait` did not report the end as ready.

    Raises:
        ChannelClosed: at once, if the channel is over and every whole message was taken.
        Exception: whatever rebuilding the message raises; that message is gone.
    """
    while not end.has_message():
        if end.closed:
            raise ChannelClosed("the channel is closed")
        wait((end,), (), NEVER)
    return end.take()


def close(end: End) -> None:
    """Close the channel for both sides, whoever else inherited it; closing again does nothing."""
    end.shut(tell_peer=True)


def abandon(end: End) -> None:
    """Drop this process's copy of an end that belongs to another process; the channel lives on."""
    end.shut(tell_peer=False)


def wait(
    ends: Iterable[End], sentinels: Iterable[int], deadline: Deadline = NEVER
) -> set[End | int]:
    """Wait until something can be done; return the ends and sentinels that are ready, if any.

    Args:
        ends: ready with a whole message, or when over (`recv` then says so); unsent rests go out
            meanwhile.
        sentinels: descriptors of processes (`OwnedProcess.sentinel`), readable once the process is
            gone.
        deadline: when to give up; an expired one looks once.
    """
    ends, sentinels = tuple(ends), tuple(sentinels)
    with held(ends):
        polled = _by_number(ends)
        # Looked at only now that they are held: a message that came before rings no bell.
        ready: set[End | int] = {end for end in ends if end.has_message() or end.closed}
        poller = select.poll()
        for fd in (*polled, *sentinels):
            poller.register(fd, select.POLLIN)
        while True:
            _ask_for_room(poller, polled, select.POLLIN)
            left = 0.0 if ready else deadline.left()
            _handle(poller.poll(None if left is None else _milliseconds(left)), polled, ready)
            if ready or deadline.expired:
                return ready


def flush(ends: Collection[End], sentinels: Collection[int], deadline: Deadline = NEVER) -> bool:
    """Wait until all that was sent on `ends` is out; return whether it is.

    Gives up early when a sentinel is ready. What an end that is over still held counts as out:
    nobody reads it. Any thread may do so: it only writes, as the end may be another's to receive from.
    """
    while rest := [end for end in ends if end.has_unsent()]:
        with held(rest):
            polled = _by_number(rest)
            poller = select.poll()
            for fd in sentinels:
                poller.register(fd, select.POLLIN)
            _ask_for_room(poller, polled, 0)
            left = deadline.left()
            events = poller.poll(None if left is None else _milliseconds(left))
            for fd, event in events:
                if fd in polled:
                    _write_on(polled[fd], event)  # also where the peer hung up: that says so
        if not events or any(fd in sentinels for fd, _ in events):
            return not any(end.has_unsent() for end in ends)
    return True


def _by_number(ends: Collection[End]) -> dict[int, End]:
    return {fd: end for end in ends if (fd := end.fileno()) >= 0}


def _ask_for_room(poller: select.poll, polled: dict[int, End], otherwise: int) -> None:
    for fd, end in polled.items():
        if end.has_unsent():
            poller.register(fd, otherwise | select.POLLOUT)
        elif otherwise:
            poller.register(fd, otherwise)


def _milliseconds(seconds: float) -> int:
    return -int(-seconds * 1000 // 1)  # rounded up: a wait that returns early would spin


def _handle(events: list[tuple[int, int]], polled: dict[int, End], ready: set[End | int]) -> None:
    for fd, event in events:
        end = polled.get(fd)
        if end is None:
            ready.add(fd)
            continue
        if event & (select.POLLOUT | select.POLLNVAL):
            _write_on(end, event)
        if event & _READ and not event & select.POLLNVAL:
            end.on_readable()
        if end.has_message() or end.closed:
            ready.add(end)


def _write_on(end: End, event: int) -> None:
    if event & select.POLLNVAL:
        end.mark_over()
        return
    with contextlib.suppress(ChannelClosed):  # `closed` says so
        end.on_writable()
