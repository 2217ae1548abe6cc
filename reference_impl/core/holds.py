"""Descriptors are not released while somebody waits on them, though they be over meanwhile."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


class Holdable(ABC):
    """Has descriptors, which are released once it is over and nobody holds it."""

    def __init__(self) -> None:
        # Guards `_users`, `_over` and the release: without it a thread could poll a number that
        # another thread has just closed and a third got again for something else.
        self._lock = threading.Lock()
        self._users: set[object] = set()
        self._over = False

    @property
    def closed(self) -> bool:
        """Whether it is over; it stays so."""
        return self._over

    @abstractmethod
    def release(self) -> None:
        """Give the descriptors back; doing so again changes nothing."""

    def hold(self, user: object) -> None:
        """Keep the descriptors from being released until `user` lets go."""
        with self._lock:
            self._users.add(user)

    def let_go(self, user: object) -> None:
        """Undo what `user` held, if it did; doing so again changes nothing."""
        with self._lock:
            self._users.discard(user)
            self._release_if_unused()

    def _release_if_unused(self) -> None:
        if self._over and not self._users:
            self.release()


@contextlib.contextmanager
def held(things: Collection[Holdable]) -> Iterator[None]:
    """Keep the descriptors of `things` from being released while they are waited on."""
    user = object()
    try:
        for each in things:
            each.hold(user)
        yield
    finally:
        try:
            _let_go(things, user)
        except BaseException:
            _let_go(things, user)  # an interrupt came in between: whom it spared is let go now
            raise


def _let_go(things: Collection[Holdable], user: object) -> None:
    for each in things:
        each.let_go(user)
