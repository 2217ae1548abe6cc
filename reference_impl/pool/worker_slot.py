"""One slot as its worker sees it."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any, Final

from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.pool.messages import BY_CODE, Attach, Call, Operation
from reference_impl.pool.slots import (
    FOLLOWING,
    GIVEN,
    NOTHING,
    OPERATION,
    REQUEST,
    ROOT,
    Slots,
    Unfit,
)

if TYPE_CHECKING:
    from reference_impl.core.channel import End
    from reference_impl.pool.slot_wires import Wire

_ROOTS: Final = frozenset({Operation.RESET, Operation.PRIVATE_RESET})


def open_slot(wire: Wire, end: End) -> WorkerSlot | None:
    """Wait to be told the layout; return the slot, or None if data travels by value after all."""
    message: Attach = channel.recv(end)
    if message.layout is None:
        wire.release()
        return None
    slots = Slots(message.layout, wire.arena.map())
    wire.arena.release()
    return WorkerSlot(slots, wire, end, strict=message.strict)


class WorkerSlot:
    """Commands and answers of one env."""

    def __init__(self, slots: Slots, wire: Wire, end: End, *, strict: bool) -> None:
        self._slots = slots
        self._env = wire.index
        self._wire = wire
        self._strict = strict
        self._poller = select.epoll()
        # Edge-triggered: what rang need not be read for the next wait to sleep.
        self._poller.register(wire.asked.fileno(), select.EPOLLIN | select.EPOLLET)
        self._poller.register(end.fileno(), select.EPOLLIN)

    def wait(self, end: End) -> None:
        """Wait for a command, a whole message, or the end of the channel."""
        asked = self._wire.asked.fileno()
        if end.has_unsent():
            channel.wait((end,), (asked,), NEVER)
            self._wire.asked.take()
        elif any(fd != asked for fd, _ in self._poller.poll()):
            channel.wait((end,), (), Deadline.after(0.0))

    def asked(self) -> Call | None:
        """Return the command that is not carried out yet, if there is one; its values are copies."""
        slots, env = self._slots, self._env
        request = slots.word(env, REQUEST)
        if request == self._last:
            return None
        self._last = request
        bits = slots.word(env, GIVEN)
        return Call(
            request=request,
            operation=BY_CODE[slots.word(env, OPERATION)],
            values=None if bits == NOTHING else slots.given.read(env, bits),
            kwargs={},
        )

    _last = 0

    def answer(self, operation: Operation, result: Any) -> bool:
        """Write the result of the last command and ring; False: it has to be sent by value.

        Raises:
            TypeError: it does not fit and is not to be sent otherwise.
        """
        following, root = result if isinstance(result, tuple) else (result, None)
        if operation in _ROOTS:
            following, root = None, result
        slots, env = self._slots, self._env
        beside = slots.layout.given
        try:
            shown = 0 if following is None else slots.following.put(env, following, beside)
            rooted = 0 if root is None else slots.root.put(env, root, beside)
        except Unfit as error:
            slots.set_word(env, FOLLOWING, 0)  # half of it may be written
            slots.set_word(env, ROOT, 0)
            if self._strict:
                raise TypeError(f'{error}: use exchange="queue" for such data') from None
            return False
        slots.answer(env, shown, rooted)
        self._wire.answered.ring()
        return True
