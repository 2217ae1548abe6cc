"""The reference's pool with one bug each in what happens when its process leaves, is killed or interrupted."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from harness.planted.variants import planted
from reference_impl.core import ownership
from reference_impl.pool import AsyncEnvPool, workers
from reference_impl.pool.worker import Serving, serve


def _serve_on(serving: Serving) -> None:
    """Serve, and keep the owner's ends that came along with the fork: no channel is ever over."""
    serve(replace(serving, inherited=()))


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """Forked workers do not look whether their owner is there."""
    with (
        patch.object(ownership, "_die_with_parent", lambda: None),
        patch.object(ownership, "_end_with", lambda _: None),
        patch.object(workers, "serve", _serve_on),
    ):
        yield


class _OwnerUnwatched(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with _unwatched():
            super().__init__(*args, **kwargs)


class _JoinedAtExit(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        over = threading.Event()
        self._helper = threading.Thread(target=over.wait)  # noqa: TID251 - no daemon, which is the bug
        self._helper.start()
        self._over = weakref.finalize(self, over.set)
        self._over.atexit = False  # the interpreter joins the thread before it would come to this

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close, and end the helper."""
        super().close(raise_if_closed=raise_if_closed)
        self._over()
        self._helper.join()


class _ComplainingFinalizer(AsyncEnvPool):
    def __del__(self) -> None:
        """Complain of a pool that nobody has closed."""
        if not getattr(self, "is_closed", True):
            raise RuntimeError("the pool was not closed")


def _serve_interruptibly(serving: Serving) -> None:
    """Serve, with Python's own reaction to SIGINT."""
    if serving.own_process:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    serve(serving)


class _NoisyWorkers(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with patch.object(workers, "serve", _serve_interruptibly):
            super().__init__(*args, **kwargs)


class _ExitsWithZero(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._give_up = weakref.WeakMethod(self._leave_at_once)
        atexit.register(_call, self._give_up)

    def _leave_at_once(self) -> None:
        """Do not wait for workers at exit: whatever ends the process, it says that all went well."""
        if not self.is_closed:
            os._exit(0)


def _call(method: weakref.WeakMethod[Any]) -> None:
    found = method()
    if found is not None:
        found()


owner_unwatched = planted("owner_unwatched", _OwnerUnwatched)
joined_at_exit = planted("joined_at_exit", _JoinedAtExit)
complaining_finalizer = planted("complaining_finalizer", _ComplainingFinalizer)
noisy_workers = planted("noisy_workers", _NoisyWorkers)
exits_with_zero = planted("exits_with_zero", _ExitsWithZero)
