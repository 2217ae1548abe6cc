"""The part of a conversation that goes through slots whose columns the caller writes and reads."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from reference_impl.core.clock import Deadline
from reference_impl.pool.lines import Heard

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from reference_impl.pool.messages import Operation
    from reference_impl.pool.slot_line import SlotLine
    from reference_impl.pool.state import Delivery, PoolState

T = TypeVar("T")


class WrittenCalls:
    """What `Conversation` does for calls by column; it says what the attributes are."""

    _changed: threading.Condition
    _reading: bool
    _state: PoolState

    def _lose(self, env: int) -> None:
        raise NotImplementedError

    def _stir(self) -> None:
        raise NotImplementedError

    def _as_reader(self, listen: Callable[[], T]) -> T:
        raise NotImplementedError

    def _read_round(self, deadline: Deadline, wanted: Collection[int] = ()) -> None:
        raise NotImplementedError

    def _take(self, heard: Heard) -> None:
        raise NotImplementedError

    def _give_up(self, ids: Iterable[int]) -> None:
        raise NotImplementedError

    def _await_group(
        self, ids: tuple[int, ...], envs: Collection[int], collect: Callable[[list[Delivery]], T]
    ) -> T:
        raise NotImplementedError

    def give_back(self, envs: Collection[int]) -> None:
        """Let leased envs be asked again."""
        with self._changed:
            self._state.give_back(envs)

    def send_written(
        self,
        operation: Operation,
        asked: Operation,
        line: SlotLine,
        envs: Sequence[int],
        given: object,
        write: Callable[[], int],
    ) -> bool:
        """Ask envs through their slots; False: some slot is not free, nothing was sent.

        Args:
            operation: whose results they are.
            asked: what the workers carry out.
            line: this conversation's.
            envs: who is asked.
            given: comes back with each result.
            write: writes what is given into their slots and returns which entries that is, as bits.

        Raises:
            Closed, WorkerDied, Leased, RuntimeError: see `PoolState.begin`; nothing was sent.
        """
        with self._changed:
            if not line.free(envs):
                return False
            ids = self._state.begin(operation, dict.fromkeys(envs, given))
            try:
                lost = line.command(envs, ids, asked, write())
            except BaseException:
                self._give_up(ids)
                raise
            self._stir()
            if lost:
                self._read_round(
                    Deadline.after(0.0)
                )  # what their neighbours answered before counts
            for env in lost:
                self._lose(env)
        return True

    def trip(
        self,
        operation: Operation,
        line: SlotLine,
        write: Callable[[], int],
        collect: Callable[[list[Delivery] | None], T],
    ) -> T | None:
        """Ask all envs through their slots and wait for all; None: some env is not free, ask them.

        Args:
            operation: what is asked.
            line: this conversation's.
            write: writes what is given into all slots and returns which entries that is, as bits.
            collect: reads the answers: None: they are all in the slots.

        Raises:
            WorkerError: an env failed or is lost.
        """
        with self._changed:
            ids = self._state.begin_round(operation) if line.free() else None
            if ids is None:
                return None
            try:
                lost = line.command_all(ids, operation, write())
                for env in lost:
                    self._lose(env)
                # Who is lost answers nothing: then each request has an end of its own.
                if not lost and not self._reading and self._read_all(line, ids):
                    return collect(None)
            except BaseException:
                self._give_up(ids)
                raise
        return self._await_group(tuple(ids), range(len(ids)), collect)

    def _read_all(self, line: SlotLine, ids: list[int]) -> bool:
        """Wait for the answers of a round, without the lock; return whether that was all there was."""
        heard = self._as_reader(partial(line.await_all, ids))
        if heard is None:
            if self._state.end_round(ids):
                return True
            heard = Heard(list(enumerate(ids)), (), ())
        self._take(heard)
        return False
