"""The gate of a cell: probes ask it at sequence points, the driver tells it what to answer.

The guardian serves it, so that it outlives the driver and adds no thread to the process under test.
Every message is one JSON line; every question gets exactly one answer, and a probe that a signal did
not end says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.engine import census
from harness.engine.meter import Meter
from harness.engine.owner_signals import OwnerSignals
from harness.engine.transfers import Transfers
from harness.model.gate import GateRule, TransferRule
from harness.model.plain import from_plain
from harness.payloads.link import Journal
from harness.ports.clock import now_ns

WATCH_S = 1.0  # how often there is a look at least
POLL_S = 0.01  # how often a process that was told to stop itself is looked at


@dataclass(eq=False, slots=True)
class _Peer:
    """One connection: a probe's or the driver's."""

    connection: socket.socket
    received: bytes = b""
    pid: int = 0
    doomed: tuple[str, str] | None = None  # order and fault that told this process to end itself


@dataclass(slots=True)
class _Rule:
    """An armed rule with what has happened to it."""

    rule: GateRule
    hits: dict[str, int] = field(default_factory=dict)
    held: list[tuple[_Peer, int]] = field(default_factory=list)
    waiting: list[_Peer] = field(default_factory=list)
    stopping: _Peer | None = None  # told to stop itself, and not seen stopped yet
    stopped: _Peer | None = None
    reached: bool = False
    open: bool = False

    def hit(self, role: str, op: str, edge: str) -> bool:
        """Count a probe that comes here; whether its order is due."""
        if self.open or self.reached or not self.rule.meets(role, op, edge):
            return False
        self.hits[role] = self.hits.get(role, 0) + 1
        self.reached = self.hits[role] == self.rule.k
        return self.reached


class GateServer:
    """Serves the gate from an event loop that belongs to somebody else.

    Args:
        selector: where it registers its sockets, each with a callback as data.
        journal: where it records what it did.
        address: of the listening socket; `@name` for an abstract one.
    """

    def __init__(self, selector: selectors.BaseSelector, journal: Journal, address: str) -> None:
        self._selector = selector
        self._journal = journal
        self._rules: list[_Rule] = []
        self._meters: list[Meter] = []
        self._owner_signals = OwnerSignals(journal)
        self._transfers = Transfers()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind("\0" + address[1:] if address.startswith("@") else address)
        self._listener.listen(64)
        self._register(self._listener, self._accept)

    @property
    def driver(self) -> int:
        """The driver's pid, 0 before there is one."""
        return self._owner_signals.driver

    @driver.setter
    def driver(self, pid: int) -> None:
        self._owner_signals.driver = pid

    def fileno(self) -> int:
        """The listening socket's descriptor."""
        return self._listener.fileno()

    def driver_gone(self, code: int, *, finished: bool = False) -> bool:
        """Let go whoever was held while the driver was signalled; whether such a signal ended it."""
        for armed in self._rules:
            if armed.rule.target is not None:
                self._release(armed.rule.fault)
        return self._owner_signals.driver_gone(code, finished=finished)

    def close(self) -> None:
        """Answer nobody any more; what is still held was held to the end."""
        for armed in self._rules:
            for _, since in armed.held:
                self._record_hold(armed, since, "until the end")
        self._listener.close()

    def watch(self) -> float:
        """Signal and continue who is due, see whose time has come; within how many s to look again."""
        self._owner_signals.send_due()
        for armed in self._rules:
            peer = armed.stopping
            if peer is not None and census.state(peer.pid) in ("T", "t"):
                armed.stopping, armed.stopped = None, peer
                self._record("stop", armed.rule.fault, "effect", f"process {peer.pid} is stopped")
                if armed.open:
                    self._continue(armed)
        self._meters = [meter for meter in self._meters if not meter.look()]
        polled_s = POLL_S if any(armed.stopping for armed in self._rules) else WATCH_S
        return min(polled_s, self._owner_signals.due_s, *(meter.due_s for meter in self._meters))

    def _register(self, listener: socket.socket, callback: Callable[[], None]) -> None:
        self._selector.register(listener, selectors.EVENT_READ, callback)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        peer = _Peer(connection)
        self._register(connection, lambda: self._read(peer))

    def _read(self, peer: _Peer) -> None:
        try:
            part = peer.connection.recv(65536)
        except OSError:
            part = b""
        if not part:
            self._lost(peer)
            return
        peer.received += part
        *lines, peer.received = peer.received.split(b"\n")
        for line in lines:
            self._answer(peer, json.loads(line))

    def _lost(self, peer: _Peer) -> None:
        self._selector.unregister(peer.connection)
        peer.connection.close()
        if peer.doomed is not None:
            self._record(*peer.doomed, "effect", f"process {peer.pid} is gone")
        for armed in self._rules:
            armed.stopping = None if armed.stopping is peer else armed.stopping
            armed.stopped = None if armed.stopped is peer else armed.stopped
            for held, since in armed.held:
                if held is peer:
                    self._record_hold(armed, since, "until it was gone")
            armed.held = [each for each in armed.held if each[0] is not peer]
            armed.waiting = [each for each in armed.waiting if each is not peer]

    def _answer(self, peer: _Peer, message: dict[str, Any]) -> None:
        if "survived" in message:
            peer.doomed = None  # no question: its end, when it comes, has another cause
        elif "arm" in message:
            self._rules.append(_Rule(from_plain(GateRule, message["arm"])))
            _say(peer, {"armed": True})
        elif "arm_transfer" in message:
            self._transfers.arm(from_plain(TransferRule, message["arm_transfer"]))
            _say(peer, {"armed": True})
        elif "transfer" in message:
            self._ask_transfer(peer, message)
        elif "release" in message:
            self._release(str(message["release"]))
            _say(peer, {"released": True})
        elif "idle" in message:
            self._measure("idle", float(message["idle"]), lambda: _say(peer, {"over": True}))
        elif "is_held" in message:
            _say(peer, {"held": bool(self._rule_of(str(message["is_held"])).held)})
        elif "wait_held" in message:
            self._wait_held(peer, str(message["wait_held"]))
        elif "signal_owner" in message:
            self._owner_signals.plan(**message["signal_owner"], where="between two calls")
        else:
            self._ask(peer, message)

    def _rule_of(self, fault: str) -> _Rule:
        return next(each for each in self._rules if each.rule.fault == fault)

    def _wait_held(self, peer: _Peer, fault: str) -> None:
        armed = self._rule_of(fault)
        if armed.held:
            _say(peer, {"held": True})
        else:
            armed.waiting.append(peer)

    def _ask(self, peer: _Peer, message: dict[str, Any]) -> None:
        """A probe is here: give it the order of the first rule whose hit this is."""
        peer.pid = int(message["pid"])
        role, op, edge = str(message["role"]), str(message["op"]), str(message["edge"])
        due = [armed for armed in self._rules if armed.hit(role, op, edge)]
        if due:
            self._give_order(peer, due[0], message)
        else:
            _say(peer, {"order": "go"})

    def _ask_transfer(self, peer: _Peer, message: dict[str, Any]) -> None:
        """Somebody puts or gets an item: tell the fault that strikes it, if any."""
        peer.pid = int(message["pid"])
        answer = self._transfers.due(message)
        if answer["op"] == "tear_transfer":
            peer.doomed = answer["op"], answer["fault"]
        _say(peer, answer)

    def _give_order(self, peer: _Peer, armed: _Rule, message: dict[str, Any]) -> None:
        rule, role = armed.rule, str(message["role"])
        if rule.order == "hold":
            armed.held.append((peer, now_ns()))
            if rule.target is not None:
                where = f"{rule.after_s:g} s after {role} came to its {rule.op}, and is held there"
                self._owner_signals.plan(rule.fault, rule.signal, rule.target, where, rule.after_s)
            else:
                index = role.partition(":")[2]
                known = {"worker": int(index)} if index else {}  # who builds a policy has none yet
                self._record("hold", rule.fault, "reached", f"{role} in {rule.op}", **known)
            for waiting in armed.waiting:
                _say(waiting, {"held": True})
            armed.waiting.clear()
            if rule.for_s:
                self._measure(rule.fault, rule.for_s, lambda: self._end_of_hold(rule.fault))
            return
        if rule.signal == signal.SIGSTOP:
            armed.stopping = peer
        elif rule.order == "signal" or self._leaves(rule, message):
            peer.doomed = rule.order, rule.fault
        told = {"signal": rule.signal, "how": rule.how, "code": rule.code, "defect": rule.defect}
        told["leaves"] = peer.doomed == (rule.order, rule.fault)
        _say(peer, {"order": rule.order, "fault": rule.fault, **told})

    def _leaves(self, rule: GateRule, message: dict[str, Any]) -> bool:
        """Whether the order ends a process: `sys.exit` in a thread or the driver is an exception, no more."""
        raised = message.get("thread") or message["pid"] == self.driver
        return rule.order == "exit" and (rule.how == "os_exit" or not raised)

    def _release(self, fault: str) -> None:
        for armed in self._rules:
            if armed.rule.fault != fault:
                continue
            armed.open = True
            for peer, since in armed.held:
                _say(peer, {"order": "go"})
                self._record_hold(armed, since, "then let go")
            armed.held.clear()
            self._continue(armed)

    def _measure(self, occasion: str, seconds: float, over: Callable[[], None]) -> None:
        """Have the processor time of all processes measured for so long, then do what comes next."""

        def done(record: dict[str, Any]) -> None:
            self._journal.write("observe", "processor", **record)
            over()

        self._meters.append(
            Meter(
                occasion=occasion,
                for_s=seconds,
                pids=lambda: census.descendants(os.getpid()),
                done=done,
            )
        )

    def _end_of_hold(self, fault: str) -> None:
        self._release(fault)
        self._record("hold", fault, "healed", "its time was over")

    def _continue(self, armed: _Rule) -> None:
        """Let a process go on that was stopped."""
        peer, armed.stopped = armed.stopped, None
        if peer is not None:
            with contextlib.suppress(ProcessLookupError):  # somebody has ended it meanwhile
                os.kill(peer.pid, signal.SIGCONT)

    def _record_hold(self, armed: _Rule, since: int, how: str) -> None:
        if armed.rule.target is not None:
            return  # the hold was a means, and no effect
        held_ms = (now_ns() - since) // 1_000_000
        self._record("hold", armed.rule.fault, "effect", f"held for {held_ms} ms, {how}")

    def _record(self, op: str, fault: str, record: str, detail: str, **data: Any) -> None:
        self._journal.write("fault", op, id=fault, record=record, detail=detail, **data)


def _say(peer: _Peer, answer: dict[str, Any]) -> None:
    try:
        peer.connection.sendall(json.dumps(answer).encode() + b"\n")
    except OSError:
        peer.received = b""  # whoever asked is gone; its end of file comes next
