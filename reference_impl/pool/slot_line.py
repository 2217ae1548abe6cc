"""The exchange through shared slots, as the owner sees it.

A call goes through the slot of its env: written there, a bell rings, the worker answers into the
same slot and rings back. What has no place in a slot goes by value over the channel: keyword
arguments, failures, and calls to an env that still works on one that its caller gave up on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.core.holds import held
from reference_impl.pool.layout import NotStatic, layout_of
from reference_impl.pool.lines import IN_SLOT, Heard, by_env, heard_on_channels
from reference_impl.pool.messages import BY_CODE, CODES, CONTROLS, Attach, Operation
from reference_impl.pool.slots import (
    ANSWERED,
    ASIDE,
    FOLLOWING,
    NOTHING,
    OPERATION,
    ROOT,
    Slots,
    Unfit,
)
from reference_impl.pool.values import Values, merged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from reference_impl.pool.layout import Layout
    from reference_impl.pool.messages import Built, Call
    from reference_impl.pool.slot_wires import Wires
    from reference_impl.pool.state import Delivery
    from reference_impl.pool.workers import Worker

_LOG: Final = logging.getLogger(__name__)
_NOW: Final = Deadline.after(0.0)
_NEVER_IN_SLOTS: Final = CONTROLS | {Operation.SET_SEED}


class SlotLine:
    """Data in shared slots; used under the lock of the conversation, but for `listen`."""

    def __init__(
        self, workers: Sequence[Worker], wires: Wires, layout: Layout, *, strict: bool
    ) -> None:
        self._workers = by_env(workers)
        self._wires = wires
        self._attach = Attach(layout=layout, strict=strict)
        wires.arena.resize(layout.size)
        self.slots: Final = Slots(layout, wires.arena.map())
        self._unrung: list[int] = []
        self._unsent = False  # whether a channel may hold what its peer did not take yet
        self._open: list[int] = [0] * layout.num_envs  # the request that a slot is given to, or 0
        # The last request by value that is not answered, or 0: what is asked after it goes by value,
        # too, as a worker looks into its slots first.
        self._by_value: list[int] = [0] * layout.num_envs
        wires.connect(workers)
        for worker in workers:
            channel.send(worker.end, self._attach)

    def free(self, envs: Iterable[int] | None = None) -> bool:
        """Return whether `envs`, by default all, may be asked through their slots."""
        if envs is None:
            return not (any(self._open) or any(self._by_value))
        return not any(self._open[env] or self._by_value[env] for env in envs)

    def check(self, operation: Operation, calls: Mapping[int, Values | None]) -> None:
        """Refuse entries with the key of one of the slot, but not its form.

        Raises:
            TypeError: naming env and key.
        """
        for env, values in calls.items():
            if values is not None:
                try:
                    self.slots.given.check(values)
                except Unfit as error:
                    raise TypeError(f"{operation.value} of env {env}: {error}") from None

    def post(self, env: int, call: Call) -> None:
        """Write the call into the env's slot, or send it by value.

        Raises:
            ChannelClosed: the worker's channel is over.
            Exception: what pickling the keyword arguments raises.
        """
        busy = self._open[env] or self._by_value[env]
        if call.kwargs or call.operation in _NEVER_IN_SLOTS or busy:
            self._unsent = True  # perhaps
            channel.send(self._workers[env].end, call)
            self._by_value[env] = call.request
            return
        given = NOTHING
        if call.values is not None:
            given = self.slots.given.put_known(env, call.values)
        if self._workers[env].end.closed:
            raise channel.ChannelClosed("the channel is closed")
        self.slots.command(env, call.request, CODES[call.operation], given)
        self._open[env] = call.request
        self._unrung.append(env)

    def posted(self) -> None:
        """Ring for the slots that were written."""
        if self._unrung:
            self._wires.call(self._unrung)
            self._unrung.clear()

    def command(
        self, envs: Sequence[int], requests: Sequence[int], operation: Operation, given: int
    ) -> list[int]:
        """Give some slots to their workers; return the envs whose channel is over."""
        code = CODES[operation]
        for env, request in zip(envs, requests, strict=True):
            self.slots.command(env, request, code, given)
            self._open[env] = request
        self._unrung += envs
        self.posted()
        return [env for env in envs if self._workers[env].end.closed]

    def command_all(self, requests: Sequence[int], operation: Operation, given: int) -> list[int]:
        """Give all slots to their workers; return the envs whose channel is over."""
        self.slots.command_all(requests, CODES[operation], given)
        self._open[:] = requests
        self._wires.everyone.ring()
        return [env for env, worker in self._workers.items() if worker.end.closed]

    def listen(self, wanted: Collection[int], deadline: Deadline) -> Heard:
        """Wait for answers in slots, messages, ends of channels and of processes."""
        with held((self._wires,)):
            if self._wires.closed:  # closed meanwhile; the ledger says so
                return Heard((), (), ())
            if self._unsent:
                self._unsent = any(each.end.has_unsent() for each in self._workers.values())
                if self._unsent:
                    return self._listen_to_all(deadline)
            mine = [env for env in wanted if self._open[env]]
            return self._await_each(mine, deadline) if mine else self._await_any(deadline)

    def await_all(self, requests: Sequence[int]) -> Heard | None:
        """Wait for the answers of all envs, asked at once; None: that is what came.

        Args:
            requests: of each env, as `command_all` wrote them.
        """
        with held((self._wires,)):
            if self._wires.closed:
                return Heard((), (), ())
            self._wires.wait_for_first(NEVER)
            rung, rare = self._wires.rung(_NOW)
            answered = self.slots.words(ANSWERED)
            if answered == requests and not rare:
                self._open = [0] * len(answered)
                return None
            replies = self._answers(rung)
            if rare:
                return self._heard(replies)
            mine = [env for env, open_ in enumerate(self._open) if open_]
            heard = self._await_each(mine, NEVER)
            return heard._replace(replies=[*replies, *heard.replies])

    def _await_each(self, envs: Sequence[int], deadline: Deadline) -> Heard:
        # While one sleeps for one of them, the others get ready, and are only looked at.
        replies: list[tuple[int, int]] = []
        missing = set(envs)
        while missing:
            at_once = 0 in missing and not deadline.expired
            if at_once:
                self._wires.wait_for_first(deadline)
            rung, rare = self._wires.rung(_NOW if at_once else deadline)
            found = self._answers(rung)
            replies += found
            if rare:
                return self._heard(replies)
            if not rung and deadline.expired:
                break
            missing.difference_update(env for env, _ in found)
        return Heard(replies, (), ())

    def _await_any(self, deadline: Deadline) -> Heard:
        rung, rare = self._wires.rung(deadline)
        replies = self._answers(rung)
        return self._heard(replies) if rare else Heard(replies, (), ())

    def _listen_to_all(self, deadline: Deadline) -> Heard:
        heard = heard_on_channels(self._workers, (self._wires.fileno(),), deadline)
        self._wires.take_nudge()
        rung, _ = self._wires.rung(_NOW)
        return heard._replace(replies=self._answers(rung))

    def _answers(self, rung: Collection[int]) -> list[tuple[int, int]]:
        """Return those of who rang whose slot is answered, with the request, and take them back."""
        answered, given = self.slots.words(ANSWERED), self._open
        found = [(env, given[env]) for env in rung if given[env] and answered[env] == given[env]]
        for env, _ in found:
            given[env] = 0
        return found

    def _heard(self, replies: Sequence[tuple[int, int]]) -> Heard:
        self._wires.take_nudge()
        ready = self._wires.rare()
        found = {env: worker for env, worker in self._workers.items() if _is_in(worker, ready)}
        heard = heard_on_channels(found, (), Deadline.after(0.0))
        # What was answered before a worker went counts.
        return heard._replace(replies=[*replies, *self._answers(heard.gone)])

    def nudge(self) -> None:
        """Let a `listen` in another thread return."""
        self._wires.nudge()

    def collect(self, deliveries: list[Delivery]) -> list[Delivery]:
        """Return deliveries whose results are copies of what lies in the slots."""
        return [
            each._replace(result=self._copy(each)) if each.result is IN_SLOT else each
            for each in deliveries
        ]

    def _copy(self, delivery: Delivery) -> Any:
        env = delivery.env
        operation = BY_CODE[self.slots.word(env, OPERATION)]
        following, root = (self._read(env, which) for which in (FOLLOWING, ROOT))
        match operation:
            case Operation.STEP | Operation.PRIVATE_STEP:
                return following
            case Operation.PRIVATE_RESET:
                return root
            case Operation.RESET:
                return merged(delivery.given, _present(root), self.slots.layout.masks)
            case Operation.STEP_AND_MAYBE_RESET:
                dropped = self.slots.layout.dropped
                return following, merged(delivery.given, _present(root), dropped)
            case Operation.STEP_THEN_RESET:
                return following, root
            case _:
                raise AssertionError(f"{operation} is never in slots")

    def _read(self, env: int, which: int) -> Values | None:
        bits = self.slots.word(env, which)
        shelf = self.slots.following if which == FOLLOWING else self.slots.root
        return shelf.read(env, bits) if bits else None

    def last_root(self, env: int) -> Values | None:
        """Return a copy of what `env` last showed of a root; None while its worker has the slot."""
        if self._open[env]:
            return None
        root = self._read(env, ROOT)
        return self._read(env, FOLLOWING) if root is None else root

    def settle(self, env: int, request: int) -> None:
        """Take note of a reply that came over the channel."""
        if self._open[env] == request:
            self._open[env] = 0
        if self._by_value[env] == request:
            self._by_value[env] = 0

    def beside_channel(self, env: int) -> int:
        """Return the request that the slot of `env` is given to, unless its answer goes by value."""
        request = self._open[env]
        return 0 if self.slots.word(env, ASIDE) == request else request

    def lose(self, worker: Worker) -> None:
        """Listen to it no more; what was half written into its slots is never read."""
        # A new one: another thread may be going through it.
        kept = {env: one for env, one in self._workers.items() if env not in worker.envs}
        if len(kept) < len(self._workers):
            self._workers = kept
            self._wires.forget(worker)

    def adopt(self, worker: Worker) -> None:
        """Listen to it; what its envs have answered before, and nobody has received, stays."""
        for env in worker.envs:
            if self._open[env]:
                self.slots.clear(env)
            else:
                self.slots.forget(env)
            self._open[env] = self._by_value[env] = 0
        wire = self._wires[worker.envs.start]
        for bell in (wire.asked, wire.answered):
            bell.take()
        self._workers = {**self._workers, **by_env((worker,))}
        self._wires.watch(worker)
        channel.send(worker.end, self._attach)


def open_line(
    workers: Sequence[Worker], wires: Wires | None, built: Sequence[Built], *, strict: bool
) -> SlotLine | None:
    """Return the line through slots; None, with the wires closed, if the specs do not allow it.

    Raises:
        ValueError: they do not and `strict` is set.
    """
    if wires is None:
        return None
    try:
        layout = layout_of([one.specs for one in built], built[0].reset_keys)
    except NotStatic as error:
        if strict:
            raise ValueError(f"exchange='shm' cannot hold what these envs show: {error}") from None
        _LOG.info("data travels by value: %s", error)
        for worker in workers:
            channel.send(worker.end, Attach(layout=None))
        wires.close()
        return None
    return SlotLine(workers, wires, layout, strict=strict)


def _present(values: Values | None) -> Values:
    assert values is not None
    return values


def _is_in(worker: Worker, ready: Collection[int]) -> bool:
    return worker.end.fileno() in ready or any(fd in ready for fd in worker.sentinels)
