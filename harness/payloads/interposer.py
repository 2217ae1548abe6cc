"""Strikes the k-th transfer of a channel, in whichever process it happens.

Transfers go through the functions that a hook table names; each is replaced by one that asks the
gate: before an item is put, and once one has been got. An empty poll is no transfer. What C code does
(semaphores, shared slots) does not pass here and is not counted.

Forked processes inherit the replaced functions; others get them with their payload, by `install`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any

from harness.model.gate import Transfer
from harness.payloads.broken import Broken, marker
from harness.payloads.ends import name_of
from harness.payloads.link import Link
from harness.ports.backend import Carried, Hook
from harness.ports.clock import pause

MULTIPROCESSING = (
    # Queues, pipes and simple queues of the standard library all come down to these two.
    Hook(
        target="multiprocessing.connection:Connection._send_bytes",
        transfer="put",
        carried="bytes",
    ),
    Hook(
        target="multiprocessing.connection:Connection._recv_bytes",
        transfer="get",
        carried="bytes",
    ),
)

Put = Callable[[Any, Any], Any]


def install(hooks: Iterable[Hook], link: Link) -> None:
    """Replace every function that the hooks name, unless this process has done, or inherited, that.

    Raises:
        ImportError: a hook names what is not there.
    """
    interposer: Interposer | None = None
    for hook in hooks:
        module, _, path = hook.target.partition(":")
        *owners, name = path.split(".")
        owner: Any = importlib.import_module(module)
        for each in owners:
            owner = getattr(owner, each)
        if not hasattr(owner, name):
            raise ImportError(f"there is no {hook.target} to hook")
        original = getattr(owner, name)
        if not hasattr(original, "harness_hook"):
            interposer = interposer or Interposer(link)
            setattr(owner, name, interposer.around(original, hook))


class Interposer:
    """What the replaced functions of one process do."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._forked()
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self._late: list[tuple[Put, Any, Any, dict[str, Any], threading.Timer]] = []
        # Guards what is late, from the answer on: feeder threads put beside each other, and whoever is
        # told to go on after an item that is to be late must find it there.
        self._lock = threading.Lock()

    def around(self, original: Callable[..., Any], hook: Hook) -> Callable[..., Any]:
        """The function that replaces `original`."""

        @functools.wraps(original)
        def put(end: Any, item: Any) -> Any:
            with self._lock:
                order = self._ask(name_of(end), "put")
                if order["op"] == "reorder_transfer":
                    return self._keep(original, end, item, order)
            if order["op"] != "go":
                return self._strike(order, original, hook.carried, end, item)
            result = original(end, item)
            if order.get("counted"):  # else it is no item of the channel that the late one is of
                self._send_late()
            return result

        @functools.wraps(original)
        def get(end: Any, *args: Any, **kwargs: Any) -> Any:
            name = name_of(end)  # it may be closed afterwards
            result = original(end, *args, **kwargs)
            order = self._ask(name, "get")
            if order["op"] != "go":
                self._hold_up(order, f"get number {order['k']}")
            return result

        hooked = put if hook.transfer == "put" else get
        hooked.harness_hook = True  # type: ignore[attr-defined] # by which `install` knows it
        return hooked

    def _ask(self, end: str, transfer: Transfer) -> dict[str, Any]:
        return self._link.ask({"transfer": transfer, "end": end}) or {"op": "go"}

    def _strike(
        self, order: dict[str, Any], original: Put, carried: Carried, end: Any, item: Any
    ) -> Any:
        """Do to an item what the fault is called."""
        what = f"put number {order['k']}"
        match order["op"]:
            case "drop_transfer":
                self._tell(order, "reached", what)
                _take(carried, item)
                self._tell(order, "effect", f"{_size(item)} never left")
                return None
            case "duplicate_transfer":
                self._tell(order, "reached", what)
                result = original(end, item)
                original(end, item)
                self._tell(order, "effect", f"{_size(item)} left twice")
                return result
            case "unrebuildable_item" | "truncate_transfer":
                self._tell(order, "reached", what)
                return original(end, self._broken(order, carried, item))
            case "cut_channel":
                self._tell(order, "reached", what)
                self._cut(order, end)
            case "tear_transfer":
                self._tell(order, "reached", what)
                _tear(original, end, item)
            case _:
                self._hold_up(order, what)
        return original(end, item)

    def _hold_up(self, order: dict[str, Any], what: str) -> None:
        """What can befall puts and gets alike: they take longer, or fail."""
        if order["op"] == "delay_transfer":
            self._tell(order, "reached", what)
            pause(order["seconds"])
            self._tell(order, "effect", f"it took {order['seconds']:g} s more")
            return
        assert order["op"] == "fail_transfer", order
        text = marker(order["op"], order["fault"])
        self._tell(order, "reached", what, marker=text)
        self._tell(order, "effect", f"{what} raised OSError")
        raise OSError(text)

    def _keep(self, original: Put, end: Any, item: Any, order: dict[str, Any]) -> None:
        """Send it after the item that comes next; who sends one only once it has an answer is not blamed."""
        self._tell(order, "reached", f"put number {order['k']}")
        overdue = threading.Timer(order["seconds"], self._send_late, kwargs={"in_time": False})
        overdue.daemon = True
        self._late.append((original, end, item, order, overdue))
        overdue.start()

    def _send_late(self, *, in_time: bool = True) -> None:
        """Send what was to come after the item that has just been sent."""
        with self._lock:
            late, self._late = self._late, []
        for original, end, item, order, overdue in late:
            original(end, item)
            if in_time:
                overdue.cancel()
                overdue.join()
                self._tell(order, "effect", f"{_size(item)} left after the item that came next")

    def _broken(self, order: dict[str, Any], carried: Carried, item: Any) -> Any:
        half = None
        if order["op"] == "truncate_transfer":
            whole = bytes(item) if carried == "bytes" else pickle.dumps(item)
            half = whole[: len(whole) // 2]
        _take(carried, item)
        broken = Broken(
            link=self._link,
            op=order["op"],
            fault=order["fault"],
            role=order["other"],
            half=half,
        )
        return pickle.dumps(broken) if carried == "bytes" else broken

    def _cut(self, order: dict[str, Any], end: Any) -> None:
        """Have the end's number lead nowhere: to close it would let somebody else get it."""
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, end.fileno())
        os.close(nowhere)
        self._tell(order, "effect", "its end leads nowhere")

    def _tell(self, order: dict[str, Any], record: str, detail: str, **data: Any) -> None:
        worker = order["worker"]
        known = {} if worker is None else {"worker": worker}
        self._link.tell(
            order["role"], order["op"], order["fault"], record, detail=detail, **known, **data
        )


def _take(carried: Carried, item: Any) -> None:
    """Take an item off its channel that nobody else will: what it hands over would stay open for ever."""
    if carried == "bytes":
        with contextlib.suppress(OSError, EOFError, RuntimeError, pickle.PickleError):
            pickle.loads(item)


def _size(item: Any) -> str:
    return f"{len(item)} bytes" if isinstance(item, bytes | memoryview) else type(item).__name__


def _tear(original: Put, end: Any, item: Any) -> None:
    """Have this process killed half-way through writing an item; does not return."""
    fd, write = end.fileno(), os.write

    def half(to: int, data: Any) -> int:
        if to != fd:
            return write(to, data)
        write(to, bytes(data)[: max(1, len(data) // 2)])
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()
        return 0  # never comes here

    os.write = half
    Connection._send = lambda self, data, *_: half(self.fileno(), data)  # type: ignore[attr-defined] # noqa: SLF001 - it has bound the original `os.write` as a default
    original(end, item)
