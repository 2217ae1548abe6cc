"""What faults may do in a cell's driver: the `Stage` of their port.

It belongs to a session, which makes the calls and journals them, and has what is armed beside the calls:
second threads, a cycle, what is scarce.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.engine import census, transfer_rules
from harness.engine.aside import Aside
from harness.engine.cycles import Cycle
from harness.engine.request import grace_s
from harness.engine.scarcity import Shortages
from harness.model.gate import GateRule, Target
from harness.payloads.ends import Pairs
from harness.ports.clock import Deadline, pause
from harness.ports.faults import Closable, Record, TransferFault

if TYPE_CHECKING:
    from harness.engine.session import Session

STRUCK_S = 2.0  # how long a signal that was asked for may take to come
GONE_S = 5.0  # how long the kernel may take to end a worker that was killed


class SessionStage:
    """What the faults of one session act on."""

    def __init__(self, session: Session, *, own_shm: bool) -> None:
        self._session = session
        self._request = session.request
        self._gate = session.gate
        self._cycle: Cycle | None = None
        self._asides: list[Aside] = []
        self._pairs = Pairs()
        self.shortages = Shortages(self.record, own_shm=own_shm)

    # What a session asks of it.

    def watch_pairs(self) -> None:
        """See which pipes are made from now on: a rule of transfers names both of their sides."""
        self._pairs.watch()

    def own_fds(self) -> set[int]:
        """Descriptors that a census must not count."""
        return {fd for aside in self._asides for fd in aside.gate.own_fds()}

    def before_step(self) -> None:
        """Wait for verbs that have begun aside."""
        for aside in self._asides:
            aside.wait()

    def forget_interruption(self) -> None:
        """Who was to interrupt a call that has ended does not come any more."""
        if self._cycle is not None:
            self._cycle.forget()

    def end_asides(self) -> None:
        """Wait for verbs aside to end."""
        for aside in self._asides:
            aside.end()
        self._asides.clear()

    # What faults ask of it.

    def record(self, fault: str, record: Record, detail: str = "", **data: Any) -> None:
        """Journal one of a fault's records."""
        name = next((f.fault for f in self._request.faults() if f.id == fault), "fault")
        self._session.journal.write("fault", name, id=fault, record=record, detail=detail, **data)

    def arm_gate(self, rule: GateRule) -> None:
        """Have a sequence point give an order."""
        self._gate.arm(replace(rule, after_s=rule.after_s * self._request.time_scale))

    def release_gate(self, fault: str) -> None:
        """Let probes that this fault holds go on."""
        self._gate.release(fault)

    def attend_hold(self, fault: str, verb: Any, bound_s: float) -> None:
        """Once a probe is held, run `verb` in a second thread; release the probe after that."""

        def tell(ended: bool) -> None:  # noqa: FBT001 - one fact
            how = "had ended" if ended else "was still running"
            self.record(fault, "effect", f"{verb.do} {how} while the probe was held")

        deadline_s = verb.within_s * self._request.time_scale
        self._asides.append(
            Aside(
                self._session.gate_client(),
                fault,
                lambda: self._session.execute(verb),
                tell,
                hold_s=bound_s * self._request.time_scale,
                end_s=deadline_s + grace_s(deadline_s),
            )
        )

    def signal_owner(self, fault: str, number: int, target: Target) -> None:
        """Have the guardian send a signal here and now, between two calls."""
        try:
            self._gate.signal_owner(fault, number, target)
            pause(STRUCK_S)  # whom it ends does not come to the end of this
        except KeyboardInterrupt:
            return  # a trainer that catches it between two calls

    def channel_ends(self, channel: str, end: str, how: str) -> Sequence[Closable]:
        """The backend's ends of a channel."""
        ends: Sequence[Closable] = self._session.subject().channel(channel, end, how)  # type: ignore[attr-defined] # a declared capability
        return ends

    def arm_transfer(self, fault: TransferFault) -> None:
        """Have the k-th transfer from now struck, in whichever process it happens."""
        setup = self._request.setup
        count = int(setup.get("num_envs") or setup["num_workers"])
        shared = int(setup.get("envs_per_worker", 1))
        rule = transfer_rules.rule_of(fault, self._session.subject(), self._pairs, count, shared)
        self._gate.arm_transfer(rule)

    def fill_channel(self, channel: str, worker: int) -> int:
        """Fill the owner's way to a worker; how many bytes that took."""
        subject: Any = self._session.subject()
        return transfer_rules.fill(subject.transfer_ends(channel, "owner")[worker])

    def drop_in_cycle(self, closing: Sequence[Closable]) -> None:
        """Leave the backend's object in a cycle whose first finalizer closes these."""
        self._cycle = Cycle(self._session.subject(), closing)
        self._session.drop()

    def collect_garbage(self, fault: str, within_s: float) -> None:
        """Collect garbage as an operation with a deadline."""

        def collect() -> dict[str, Any]:
            self.record(fault, "reached")
            gc.collect()
            return {}

        self._session.call("collect_garbage", within_s, {}, collect)
        self._record_collected(fault)

    def collect_during_call(self, fault: str, after_s: float) -> None:
        """Have a signal collect garbage in the main thread, in the middle of the next call."""

        def collect() -> None:
            self.record(fault, "reached")
            gc.collect()
            self._record_collected(fault)

        assert self._cycle is not None
        self._cycle.interrupt_in(after_s, collect)

    def _record_collected(self, fault: str) -> None:
        if self._cycle is not None and self._cycle.collected:
            self.record(fault, "effect", "the cycle was collected")

    def kill_worker(self, fault: str, worker: int) -> None:
        """Kill a worker process, and wait until it is gone."""
        pid = self._pid_of(worker)
        if pid is None:
            return
        self.record(fault, "reached", f"process {pid} while nothing is called", worker=worker)
        if census.kill(pid, Deadline.after(GONE_S * self._request.time_scale)):
            self.record(fault, "effect", f"process {pid} is gone")

    def freeze_worker(self, fault: str, worker: int) -> None:
        """Stop a worker process, and wait until it is stopped."""
        pid = self._pid_of(worker)
        if pid is None:
            return
        self.record(fault, "reached", f"process {pid} while nothing is called", worker=worker)
        if census.freeze(pid, Deadline.after(GONE_S * self._request.time_scale)):
            self.record(fault, "effect", f"process {pid} is stopped")

    def thaw_worker(self, worker: int) -> None:
        """Let a worker process go on that was stopped, unless somebody has ended it meanwhile."""
        pid = self._pid_of(worker)
        with contextlib.suppress(ProcessLookupError):
            if pid is not None:
                os.kill(pid, signal.SIGCONT)

    def _pid_of(self, worker: int) -> int | None:
        """The process that the backend names, if it is of this cell: whoever else it names is not struck."""
        subject: Any = self._session.subject()
        named = dict(enumerate(subject.worker_pids())).get(worker)
        cell = census.descendants(os.getppid())  # the guardian's
        return next((pid for pid in cell if pid == named and pid != os.getpid()), None)

    def spoil_next_send(self, fault: str, defect: str) -> None:
        """Have the session's next send carry weights that the worker cannot apply."""
        self._session.spoil_next_send(fault, defect)
