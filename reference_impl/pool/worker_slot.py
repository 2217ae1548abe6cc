"""The slots of a worker's envs, as it sees them."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any, Final

from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.pool.env_steps import EnvSteps, env_steps
from reference_impl.pool.gym_steps import gym_steps
from reference_impl.pool.messages import BY_CODE, Attach, Call, Operation, Stop
from reference_impl.pool.slots import (
    ANSWERED,
    ASIDE,
    FOLLOWING,
    GIVEN,
    NOTHING,
    OPERATION,
    REQUEST,
    ROOT,
    TOGETHER,
    Slots,
    Unfit,
)

if TYPE_CHECKING:
    from tensordict import TensorDictBase
    from torchrl.envs import EnvBase

    from reference_impl.core.channel import End
    from reference_impl.pool.gym_steps import GymSteps
    from reference_impl.pool.slot_wires import Wire

_SOURCES: Final = 3  # two bells and the channel
_ROOTS: Final = frozenset({Operation.RESET, Operation.PRIVATE_RESET})


def open_slots(wire: Wire, end: End) -> WorkerSlots | None:
    """Wait to be told the layout; return the slots, or None if data travels by value after all.

    Raises:
        ChannelClosed: the owner has no more use for this worker, whose envs do not go together.
    """
    message: Attach | Stop = channel.recv(end)
    if isinstance(message, Stop):
        raise channel.ChannelClosed("asked to stop before it was told the layout")
    if message.layout is None:
        wire.release()
        return None
    slots = Slots(message.layout, wire.arena.map())
    wire.arena.release()
    return WorkerSlots(slots, wire, end, strict=message.strict)


class WorkerSlots:
    """The commands and answers of a worker's envs, and its bells."""

    def __init__(self, slots: Slots, wire: Wire, end: End, *, strict: bool) -> None:
        self._wire = wire
        self._members = [
            WorkerSlot(slots, env, place, strict=strict) for place, env in enumerate(wire.envs)
        ]
        self._unsaid = False
        self.last = self._members[0]
        self._poller = select.epoll()
        # Edge-triggered: what rang need not be read for the next wait to sleep.
        for bell in (wire.asked, wire.everyone):
            self._poller.register(bell.fileno(), select.EPOLLIN | select.EPOLLET)
        self._poller.register(end.fileno(), select.EPOLLIN)

    def __getitem__(self, place: int) -> WorkerSlot:
        return self._members[place]

    def wait(self, end: End) -> None:
        """Wait for a command that takes tensordicts, a whole message, or the end of the channel.

        Other commands are carried out meanwhile.

        Raises:
            Exception: whatever a step of an env raises; `last` says of which.
        """
        if end.has_message() or end.closed:  # it came along with another: no more will come
            return
        if end.has_unsent():
            channel.wait((end,), (self._poller.fileno(),), NEVER)
            self._poller.poll(0, _SOURCES)
            return
        poll, talk = self._poller.poll, end.fileno()
        while len(ready := poll(None, _SOURCES)) == 1 and ready[0][0] != talk:
            if not self._stepped():
                return
        channel.wait((end,), (), Deadline.after(0.0))

    def _stepped(self) -> bool:
        """Carry out what was asked, if there is anything; False: some of it takes tensordicts."""
        stepped = False
        for slot in self._members:
            if slot.is_new():
                self.last = slot
                if not slot.stepped():
                    return False
                self.tell(slot)
                stepped = True
        self.rest()
        return stepped

    def asked(self) -> WorkerSlot | None:
        """Return a slot with a command that was not taken yet, and take it; None: there is none."""
        for slot in self._members:
            if slot.asked():
                self.last = slot
                return slot
        return None

    def tell(self, slot: WorkerSlot) -> None:
        """Ring, as what was asked of `slot` is answered; not yet if all are waited for."""
        if slot.together:
            self._unsaid = True
        else:
            self._wire.answered.ring()

    def rest(self) -> None:
        """Ring for what was answered without a ring: there is nothing more to do."""
        if self._unsaid:
            self._unsaid = False
            self._wire.answered.ring()


class WorkerSlot:
    """Commands and answers of one env."""

    def __init__(self, slots: Slots, env: int, place: int, *, strict: bool) -> None:
        self._slots = slots
        self._head = slots.head(env)
        self._env = env
        self.place: Final = place
        self._strict = strict
        self._short: GymSteps | EnvSteps | None = None
        self.takes_short_cut = True
        self._last = 0

    @property
    def request(self) -> int:
        """The request of the last command."""
        return self._head[REQUEST]

    @property
    def together(self) -> bool:
        """Whether the last command was one for all envs, whose answers are waited for together."""
        return bool(self._head[TOGETHER])

    def asked(self) -> bool:
        """Return whether there is a command that was not taken yet, and take it."""
        # Read once: after the bell of everyone the owner may write a command while this looks.
        request = self.request
        new = self._is_new(request)
        self._last = request
        return new

    def is_new(self) -> bool:
        """Return whether there is a command that was not taken yet."""
        return self._is_new(self.request)

    def _is_new(self, request: int) -> bool:
        # A ring may come late, when its command was seen in the header and carried out already.
        return request not in (self._last, self._head[ANSWERED])

    def put_aside(self) -> None:
        """Take the last command for done: its answer goes by value."""
        self._last = self.request
        self._slots.set_word(self._env, ASIDE, self._last)

    def stepped(self) -> bool:
        """Carry out the command without tensordicts, if that is possible; return whether it was.

        Raises:
            Exception: whatever the env raises.
        """
        short = self._short if self.takes_short_cut else None
        return short is not None and short.stepped()

    def call(self) -> Call:
        """Return the command; its values are copies."""
        slots, env = self._slots, self._env
        bits = slots.word(env, GIVEN)
        return Call(
            request=self.request,
            operation=BY_CODE[slots.word(env, OPERATION)],
            values=None if bits == NOTHING else slots.given.read(env, bits),
            kwargs={},
            place=self.place,
        )

    def begun(self) -> TensorDictBase | None:
        """Return, once, what the env returned from the step if it was carried out half only."""
        short = self._short
        if not isinstance(short, EnvSteps) or short.begun is None:
            return None
        following, short.begun = short.begun, None
        return following

    def shorten(self, env: EnvBase) -> None:
        """Step `env` without tensordicts from now on, if that is possible."""
        slots, index = self._slots, self._env
        self._short = gym_steps(env, slots, index) or env_steps(env, slots, index)

    def answer(self, operation: Operation, result: Any) -> bool:
        """Write the result of the last command; False: it has to be sent by value.

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
        return True
