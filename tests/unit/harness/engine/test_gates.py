"""A gate gives each order once, at the hit it was armed for, and records what it did."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.engine.gates import GateServer
from harness.model.gate import GateRule, Order
from harness.model.plain import to_plain
from harness.payloads.link import Journal
from tests.patience import PATIENCE_S


class Gate:
    """A gate with its event loop, driven by hand."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._path = path
        self._selector = selectors.DefaultSelector()
        self._journal = Journal(str(path), "guardian")
        self.address = f"@gate-test-{os.getpid()}-{id(self)}"
        self.server = GateServer(self._selector, self._journal, self.address)
        self._peers: list[socket.socket] = []

    def peer(self) -> socket.socket:
        """A connection, of a probe or the driver."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect("\0" + self.address[1:])
        connection.settimeout(0.0)
        self._peers.append(connection)
        return connection

    def say(self, peer: socket.socket, message: dict[str, Any]) -> dict[str, Any] | None:
        """Send a line; the answer, None if there is none yet."""
        peer.sendall(json.dumps(message).encode() + b"\n")
        return self.heard(peer)

    def heard(self, peer: socket.socket) -> dict[str, Any] | None:
        """What the gate has said by now."""
        while ready := self._selector.select(0.01):
            for key, _ in ready:
                key.data()
        try:
            found = json.loads(peer.recv(4096))
        except BlockingIOError:
            return None
        assert isinstance(found, dict)
        return found

    def arm(self, fault: str, order: Order, **rule: Any) -> None:
        armed = GateRule(**{"fault": fault, "role": "worker", "op": "step", "order": order, **rule})
        assert self.say(self.peer(), {"arm": to_plain(armed)}) == {"armed": True}

    def ask(
        self, peer: socket.socket, role: str = "worker:0", op: str = "step", **more: Any
    ) -> Any:
        question = {"role": role, "op": op, "edge": "before", "pid": 1, **more}
        answer = self.say(peer, question)
        return None if answer is None else answer["order"]

    def records(self) -> list[tuple[str, str]]:
        lines = map(json.loads, self._path.read_text().splitlines())
        faults = (line["data"] for line in lines if line["kind"] == "fault")
        return [(data["id"], data["record"]) for data in faults]

    def close(self) -> None:
        for peer in self._peers:
            peer.close()
        while ready := self._selector.select(0.01):
            for key, _ in ready:
                key.data()
            if all(key.fileobj is self.server for key, _ in ready):
                break
        self.server.close()
        self._selector.close()
        os.close(self._journal.fd)


@pytest.fixture
def gate(tmp_path: Path):
    gate = Gate(tmp_path / "journal.jsonl")
    yield gate
    gate.close()


def test_a_probe_that_no_rule_speaks_of_goes_on(gate: Gate):
    gate.arm("f1", "raise", op="reset")
    assert gate.ask(gate.peer()) == "go"


def test_an_order_is_given_at_its_hit_and_once(gate: Gate):
    gate.arm("f1", "raise", k=2)
    probe = gate.peer()
    assert [gate.ask(probe) for _ in range(4)] == ["go", "raise", "go", "go"]


def test_hits_are_counted_by_role(gate: Gate):
    gate.arm("f1", "raise", k=2)
    probe = gate.peer()
    roles = ["worker:0", "worker:1", "worker:1"]
    assert [gate.ask(probe, role) for role in roles] == ["go", "go", "raise"]


def test_two_faults_at_one_operation_strike_at_their_own_hits(gate: Gate):
    gate.arm("f1", "raise", k=1)
    gate.arm("f2", "raise", k=2)
    probe = gate.peer()
    assert [gate.ask(probe) for _ in range(3)] == ["raise", "raise", "go"]


def test_a_fault_that_was_healed_strikes_nobody(gate: Gate):
    gate.arm("f1", "raise", k=2)
    probe = gate.peer()
    gate.ask(probe)
    gate.say(gate.peer(), {"release": "f1"})
    assert gate.ask(probe) == "go"


def test_a_held_probe_is_answered_when_it_is_released(gate: Gate):
    gate.arm("f1", "hold")
    probe = gate.peer()
    assert gate.ask(probe) is None
    gate.say(gate.peer(), {"release": "f1"})
    assert gate.heard(probe) == {"order": "go"}
    assert gate.records() == [("f1", "reached"), ("f1", "effect")]


def test_whoever_waits_for_a_hold_is_told(gate: Gate):
    gate.arm("f1", "hold")
    driver, probe = gate.peer(), gate.peer()
    assert gate.say(driver, {"wait_held": "f1"}) is None
    gate.ask(probe)
    assert gate.heard(driver) == {"held": True}


def test_who_asks_whether_a_hold_holds_anybody_is_told_at_once(gate: Gate):
    gate.arm("f1", "hold")
    driver, probe = gate.peer(), gate.peer()
    assert gate.say(driver, {"is_held": "f1"}) == {"held": False}
    gate.ask(probe)
    assert gate.say(driver, {"is_held": "f1"}) == {"held": True}


def test_a_probe_that_dies_while_it_is_held_was_held_until_then(gate: Gate):
    gate.arm("f1", "hold")
    probe = gate.peer()
    gate.ask(probe)
    probe.close()
    gate.heard(gate.peer())
    assert gate.records() == [("f1", "reached"), ("f1", "effect")]


def test_the_effect_of_a_signal_is_that_its_process_is_gone(gate: Gate):
    gate.arm("f1", "signal", signal=9)
    probe = gate.peer()
    assert gate.ask(probe) == "signal"
    assert gate.records() == []
    probe.close()
    gate.heard(gate.peer())
    assert gate.records() == [("f1", "effect")]


def test_the_effect_of_leaving_is_that_the_process_is_gone(gate: Gate):
    gate.arm("f1", "exit", how="sys_exit", code=3)
    probe = gate.peer()
    assert gate.ask(probe) == "exit"
    assert gate.records() == []
    probe.close()
    gate.heard(gate.peer())
    assert gate.records() == [("f1", "effect")]


def test_a_process_that_survived_its_signal_ends_without_an_effect(gate: Gate):
    gate.arm("f1", "signal", signal=signal.SIGTERM)
    probe = gate.peer()
    gate.ask(probe)
    assert gate.say(probe, {"survived": True}) is None
    probe.close()
    gate.heard(gate.peer())
    assert gate.records() == []


@pytest.mark.parametrize("where", [{"thread": True}, {"pid": 7}], ids=["thread", "driver"])
def test_who_cannot_leave_by_an_exception_is_not_taken_to_be_gone(gate: Gate, where):
    gate.server.driver = 7
    gate.arm("f1", "exit", how="sys_exit")
    probe = gate.peer()
    gate.ask(probe, **where)
    probe.close()
    gate.heard(gate.peer())
    assert gate.records() == []


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "60"])  # noqa: TID251 - a process to stop
    yield process
    process.kill()
    process.wait()


def stopped(gate: Gate, process) -> None:
    """It is told to stop itself, and does."""
    gate.arm("f1", "signal", signal=signal.SIGSTOP)
    gate.ask(gate.peer(), pid=process.pid)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def test_the_effect_of_a_stop_is_that_its_process_is_stopped(gate: Gate, sleeper):
    gate.arm("f1", "signal", signal=signal.SIGSTOP)
    gate.ask(gate.peer(), pid=sleeper.pid)
    gate.server.watch()
    assert gate.records() == []
    sleeper.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
    gate.server.watch()
    assert gate.records() == [("f1", "effect")]


def test_a_process_that_stops_is_looked_at_more_often_until_it_has(gate: Gate, sleeper):
    assert gate.server.watch() == 1.0
    gate.arm("f1", "signal", signal=signal.SIGSTOP)
    gate.ask(gate.peer(), pid=sleeper.pid)
    assert gate.server.watch() < 0.1


def test_a_stopped_process_goes_on_when_it_is_released(gate: Gate, sleeper):
    stopped(gate, sleeper)
    gate.server.watch()
    gate.say(gate.peer(), {"release": "f1"})
    os.waitid(os.P_PID, sleeper.pid, os.WCONTINUED)


def test_a_process_that_is_released_before_it_has_stopped_goes_on_as_well(gate: Gate, sleeper):
    stopped(gate, sleeper)
    gate.say(gate.peer(), {"release": "f1"})
    gate.server.watch()
    os.waitid(os.P_PID, sleeper.pid, os.WCONTINUED)


def test_who_has_to_spoil_a_reply_is_told_how(gate: Gate):
    gate.arm("f1", "spoil", defect="missing_key")
    question = {"role": "worker:0", "op": "step", "edge": "before", "pid": 1}
    answer = gate.say(gate.peer(), question)
    assert answer is not None
    assert (answer["order"], answer["defect"]) == ("spoil", "missing_key")


def test_who_idles_is_told_when_the_time_is_over(gate: Gate):
    driver = gate.peer()
    assert gate.say(driver, {"idle": 0.0}) is None
    gate.server.watch()
    assert gate.heard(driver) == {"over": True}


def test_a_hold_for_a_given_time_ends_by_itself_and_counts_as_healed(gate: Gate):
    gate.arm("f1", "hold", for_s=1e-9)
    probe = gate.peer()
    assert gate.ask(probe) is None
    gate.server.watch()
    assert gate.heard(probe) == {"order": "go"}
    assert gate.records() == [("f1", "reached"), ("f1", "effect"), ("f1", "healed")]


def test_a_hold_without_a_time_goes_on(gate: Gate):
    gate.arm("f1", "hold")
    probe = gate.peer()
    gate.ask(probe)
    gate.server.watch()
    assert gate.heard(probe) is None


class Owner:
    """A process that waits for a signal."""

    def __init__(self, gate: Gate) -> None:
        # A job of a CI may ignore it, and hand that down; a handler is not handed down.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(["sleep", "60"], start_new_session=True)  # noqa: TID251 - to signal
        signal.signal(signal.SIGINT, before)
        gate.server.driver = self.process.pid

    def code(self) -> int:
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def owner(gate: Gate):
    owner = Owner(gate)
    yield owner
    owner.process.kill()
    owner.process.wait()


def test_an_owner_is_signalled_while_a_worker_is_held(gate: Gate, owner: Owner):
    gate.arm("f1", "hold", signal=int(signal.SIGTERM), target="main")
    probe = gate.peer()
    assert gate.ask(probe) is None  # held
    gate.server.watch()
    assert gate.server.driver_gone(owner.code())
    assert gate.heard(probe) == {"order": "go"}
    assert gate.records() == [("f1", "reached"), ("f1", "effect")]


def test_an_owner_is_not_signalled_before_its_time(gate: Gate, owner: Owner):
    gate.arm("f1", "hold", signal=int(signal.SIGTERM), target="main", after_s=60.0)
    gate.ask(gate.peer())
    assert gate.server.watch() == 1.0
    assert gate.records() == []
    owner.process.kill()
    assert not gate.server.driver_gone(owner.code())


def test_the_group_of_an_owner_is_signalled_when_it_asks_for_it(gate: Gate, owner: Owner):
    strike = {"fault": "f1", "number": int(signal.SIGINT), "target": "group"}
    assert gate.say(gate.peer(), {"signal_owner": strike}) is None
    gate.server.watch()
    assert owner.code() == -signal.SIGINT
    assert gate.records() == [("f1", "reached")]


def test_an_end_that_has_another_cause_is_no_effect(gate: Gate, owner: Owner):
    gate.arm("f1", "hold", signal=int(signal.SIGURG), target="main")  # which sleep ignores
    gate.ask(gate.peer())
    gate.server.watch()
    owner.process.kill()
    assert not gate.server.driver_gone(owner.code())
    assert gate.records() == [("f1", "reached")]


def test_an_owner_that_ends_by_its_own_hand_after_sigterm_has_ended_by_it(gate: Gate, owner: Owner):
    strike = {"fault": "f1", "number": int(signal.SIGTERM), "target": "main"}
    gate.say(gate.peer(), {"signal_owner": strike})
    gate.server.watch()
    owner.code()
    assert gate.server.driver_gone(143)
    assert gate.records() == [("f1", "reached"), ("f1", "effect")]


@pytest.mark.parametrize(("code", "finished"), [(-signal.SIGSEGV, False), (0, True)])
def test_another_signal_or_the_end_of_the_script_is_no_effect_of_sigterm(
    gate: Gate, owner: Owner, code: int, *, finished: bool
):
    strike = {"fault": "f1", "number": int(signal.SIGTERM), "target": "main"}
    gate.say(gate.peer(), {"signal_owner": strike})
    gate.server.watch()
    owner.code()
    assert not gate.server.driver_gone(code, finished=finished)
    assert gate.records() == [("f1", "reached")]


def test_nobody_is_signalled_once_the_owner_is_gone(gate: Gate, owner: Owner):
    owner.process.kill()
    gate.server.driver_gone(owner.code())
    strike = {"fault": "f1", "number": int(signal.SIGTERM), "target": "main"}
    gate.say(gate.peer(), {"signal_owner": strike})
    gate.server.watch()
    assert gate.records() == []
