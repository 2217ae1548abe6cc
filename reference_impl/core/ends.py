"""The two kinds of channel ends: over a `Connection` for processes, a deque and a bell for threads.

Only `reference_impl.core.channel` calls what is here; use its functions.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, Final, final

from reference_impl.core import wire
from reference_impl.core.holds import Holdable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_HEADER: Final = struct.Struct("!Q")
_CHUNK: Final = 1 << 16  # what a first read takes: most messages whole, in one system call
_RING: Final = (1).to_bytes(8, "little")


class ChannelClosed(OSError):  # noqa: N818 - a state, not a mistake
    """The channel is closed, by this side or by the other; it stays so."""


class End(Holdable):
    """One side of a duplex channel: a state (`closed`) and something to wait on.

    It is over once this side has closed it, or has seen that the other did.
    """

    @abstractmethod
    def fileno(self) -> int:
        """Return the descriptor to wait on, or -1 once it is released."""

    @abstractmethod
    def put(self, message: object) -> None:
        """Send `message`, or keep what does not go out now."""

    @abstractmethod
    def take(self) -> Any:
        """Return the next whole message."""

    @abstractmethod
    def has_message(self) -> bool:
        """Return whether a whole message is here."""

    @abstractmethod
    def on_readable(self) -> None:
        """Take in what has come."""

    @abstractmethod
    def hang_up(self) -> None:
        """Tell the other side that it is over, and wake whoever polls here."""

    def has_unsent(self) -> bool:
        """Return whether something kept is still to go out."""
        return False

    @abstractmethod
    def on_writable(self) -> None:
        """Go on with what was kept."""

    def shut(self, *, tell_peer: bool) -> None:
        """Enter the state of being over; for both sides if `tell_peer`."""
        with self._lock:
            self._over = True
            if tell_peer and self.fileno() >= 0:
                self.hang_up()
            self._release_if_unused()

    def mark_over(self) -> None:
        """Take note that the channel is over."""
        self._over = True


@final
class ProcessEnd(End):
    """An end over a `Connection`: messages are pickled; it may be an argument of a new process."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        os.set_blocking(connection.fileno(), False)
        self._connection = connection
        self._outbox: deque[memoryview] = deque()
        self._sending = threading.Lock()  # one writer at a time: frames must not be interleaved
        self._inbox: deque[bytearray] = deque()
        self._head = bytearray()  # a frame's header or its first bytes, until its length is known
        self._frame: bytearray | None = None
        self._filled = 0

    def __reduce__(self) -> tuple[type[ProcessEnd], tuple[Connection]]:
        return ProcessEnd, (self._connection,)

    def fileno(self) -> int:
        """Return the socket's descriptor, or -1."""
        return -1 if self._connection.closed else self._connection.fileno()

    def put(self, message: object) -> None:
        """Send `message`, or keep what does not go out now."""
        data = wire.dumps(message)
        with self._sending:
            if len(data) <= _CHUNK:
                self._outbox.append(memoryview(_HEADER.pack(len(data)) + data))
            else:  # two writes are cheaper than a copy
                self._outbox.extend((memoryview(_HEADER.pack(len(data))), memoryview(data)))
            self._drain()

    def has_unsent(self) -> bool:
        """Return whether something kept is still to go out."""
        return bool(self._outbox) and not self._over

    def on_writable(self) -> None:
        """Go on with what was kept."""
        with self._sending:
            self._drain()

    def _drain(self) -> None:
        while self._outbox:
            try:
                written = os.write(self.fileno(), self._outbox[0])
            except BlockingIOError:
                return
            except OSError as error:
                self._outbox.clear()
                self.mark_over()
                raise ChannelClosed("the peer has closed the channel") from error
            if written == len(self._outbox[0]):
                self._outbox.popleft()
            else:
                self._outbox[0] = self._outbox[0][written:]

    def has_message(self) -> bool:
        """Return whether a whole message is here."""
        return bool(self._inbox)

    def take(self) -> Any:
        """Return the next whole message."""
        return wire.loads(self._inbox.popleft())

    def on_readable(self) -> None:
        """Take in what has come."""
        try:
            while self._read_some():
                pass
        except BlockingIOError:
            return
        except OSError:
            self.mark_over()

    def _read_some(self) -> bool:
        """Read once; return whether reading on may give more without waiting."""
        if self._frame is not None:
            got = os.readv(self.fileno(), [memoryview(self._frame)[self._filled :]])
            self._filled += got
            if got and self._filled == len(self._frame):
                self._inbox.append(self._frame)
                self._frame = None
        else:
            data = os.read(self.fileno(), _CHUNK)
            got = len(data)
            self._head += data
            self._split()
        if not got:
            self.mark_over()
        # Of a channel that a send has found to be over nobody is told again that there is more.
        return bool(got) and (self._frame is not None or self._over)

    def _split(self) -> None:
        """Move whole frames from `_head` to the inbox; begin one whose rest is still to come."""
        while len(self._head) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._head)
            end = _HEADER.size + length
            if len(self._head) < end:
                self._frame = bytearray(length)
                self._filled = len(self._head) - _HEADER.size
                self._frame[: self._filled] = self._head[_HEADER.size :]
                self._head = bytearray()
                return
            self._inbox.append(self._head[_HEADER.size : end])
            del self._head[:end]

    def hang_up(self) -> None:
        """Tell the other side that it is over, and wake whoever polls here."""
        # Reaches the peer even where another process inherited this end, and wakes whoever polls it
        # here.
        with contextlib.suppress(OSError):
            handle = socket.socket(fileno=self._connection.fileno())
            try:
                handle.shutdown(socket.SHUT_RDWR)
            finally:
                handle.detach()

    def release(self) -> None:
        """Give the descriptor back."""
        if not self._connection.closed:
            with contextlib.suppress(OSError):  # somebody else closed the number
                self._connection.close()


class _Bell:
    """A descriptor that is readable while it rings."""

    def __init__(self) -> None:
        self._fds: tuple[int, ...]
        if hasattr(os, "eventfd"):
            self._fds = (os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC),)
        else:
            self._fds = os.pipe()
        self._ringing = False
        # Guards both: a ring must not reach a number that was released and given to somebody else.
        self._lock = threading.Lock()

    def fileno(self) -> int:
        return self._fds[0] if self._fds else -1

    def ring(self) -> None:
        with self._lock:
            if self._fds and not self._ringing:
                self._ringing = True
                with contextlib.suppress(OSError):  # somebody else closed the number
                    os.write(self._fds[-1], _RING)

    def hush(self) -> None:
        with self._lock:
            if self._fds and self._ringing:
                self._ringing = False
                with contextlib.suppress(OSError):  # somebody else closed the number
                    os.read(self._fds[0], len(_RING))

    def release(self) -> None:
        with self._lock:
            while self._fds:
                # No call comes between the two: an interrupt there would lose the number.
                fd, self._fds = self._fds[0], self._fds[1:]
                try:
                    os.close(fd)
                except OSError:
                    continue


@final
class ThreadEnd(End):
    """An end inside one process: a deque and a bell. Messages are handed over, not copied."""

    def __init__(self) -> None:
        super().__init__()
        self._inbox: deque[object] = deque()
        self._bell = _Bell()
        self._peer: ThreadEnd | None = None

    def join_to(self, peer: ThreadEnd) -> None:
        """Make `peer` the other side."""
        self._peer = peer

    def fileno(self) -> int:
        """Return the bell's descriptor, or -1."""
        return self._bell.fileno()

    def put(self, message: object) -> None:
        """Send `message`, or keep what does not go out now."""
        peer = self._peer
        if peer is None or not peer._accept(message):  # noqa: SLF001 - the other half of the same pair
            self.mark_over()
            raise ChannelClosed("the peer has closed the channel")

    def _accept(self, message: object) -> bool:
        with self._lock:
            if self._over:
                return False
            self._inbox.append(message)
            if self._users:  # whoever comes later looks into the inbox before it waits
                self._bell.ring()
            return True

    def has_message(self) -> bool:
        """Return whether a whole message is here."""
        return bool(self._inbox)

    def take(self) -> Any:
        """Return the next whole message."""
        with self._lock:
            message = self._inbox.popleft()
            if not self._inbox and not self._over:
                self._bell.hush()
            return message

    def on_readable(self) -> None:
        """Take in what has come: it is here already."""

    def on_writable(self) -> None:
        """Go on with what was kept: nothing ever is."""

    def hang_up(self) -> None:
        """Tell the other side that it is over, and wake whoever polls here."""
        self._bell.ring()
        peer, self._peer = self._peer, None  # no cycle is left behind for the collector
        if peer is not None:
            peer._peer_left()  # noqa: SLF001 - the other half of the same pair

    def _peer_left(self) -> None:
        self._over = True
        self._peer = None
        self._bell.ring()

    def release(self) -> None:
        """Give the descriptor back."""
        self._bell.release()
