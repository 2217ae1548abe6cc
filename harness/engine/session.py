"""Interprets a scenario inside the driver: calls, faults, and a journal of both.

A session knows no component; its subclasses run the verbs. What faults act on is its stage.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from harness.engine import census, holdings
from harness.engine.components import Component
from harness.engine.gate_client import GateClient
from harness.engine.interrupts import record_interrupts
from harness.engine.leaving import Leaving, Way
from harness.engine.loader import backend_of
from harness.engine.request import CellRequest, grace_s
from harness.engine.stage import SessionStage
from harness.model.plain import from_plain, text_of
from harness.model.scenario import Heal, Phase
from harness.payloads.interposer import MULTIPROCESSING, install
from harness.payloads.link import Journal, Link
from harness.ports.backend import Hook
from harness.ports.clock import Deadline, pause
from harness.ports.faults import Fault
from harness.ports.leave import Leave

SetupT = TypeVar("SetupT")
TEXT_MAX = 4000  # characters of a message or traceback that are kept
RELEASE_S = 5.0  # how long finalizers of what was closed, or never closed, may take
SETTLE_S = 2.0  # how long what was closed may take to be gone


class Session:
    """Runs the steps of one row."""

    def __init__(
        self, request: CellRequest, component: Component, link: Link, *, own_shm: bool
    ) -> None:
        self.request = request
        self.component = component
        self.link = link
        self.journal = Journal(link.journal, "driver")
        self.gate = self.gate_client()
        self._own_shm = own_shm
        self._requests = itertools.count(1)
        self._hits: Counter[str] = Counter()
        self._armed: list[Fault] = []
        self._phase: str | None = None
        self.stage = SessionStage(self, own_shm=own_shm)
        self._leaves = any(verb.do == "leave" for verb in request.verbs())
        self._failed: BaseException | None = None  # what the last failed call raised, if needed

    # What a component adds.

    def open(self) -> None:
        """Build the backend's object."""
        raise NotImplementedError

    def drop(self) -> None:
        """Forget the backend's object without closing it."""
        raise NotImplementedError

    def arguments(self, verb: Any) -> dict[str, Any]:
        """What a verb is about to be called with, for the journal."""
        raise NotImplementedError

    def perform(self, verb: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call the backend; returns what the journal should have of the result."""
        raise NotImplementedError

    def scaled_setup(self, cls: type[SetupT]) -> SetupT:
        """The row's setup as ports are handed it: whoever has bounds of its own must not be the hastier for load."""
        plain = self.request.setup
        start_s = plain["start_within_s"] * self.request.time_scale
        return from_plain(cls, {**plain, "start_within_s": start_s})

    def allow(self, made: object, within_s: float) -> None:
        """Tell what a port made, if it wants to know, how long its calls may take."""
        told = getattr(made, "allow", None)
        if told is not None:
            told(within_s * self.request.time_scale)

    def subject(self) -> object:
        """The backend's object."""
        raise NotImplementedError

    def spoil_next_send(self, fault: str, defect: str) -> None:
        """Have the next send carry weights that the worker cannot apply; only a component that sends can."""
        raise NotImplementedError(
            f"{self.component.name} sends nothing to spoil: {fault}, {defect}"
        )

    def after_call(self) -> None:
        """Look at what a call may have changed beside what it returned."""

    # The scenario.

    def run(self) -> None:
        """Run every step, between two censuses."""
        if any(fault.fault == "collect_cycle" for fault in self.request.faults()):
            gc.disable()  # the scenario says when garbage is collected
        hooks = self.hooks()
        if hooks:
            self.stage.watch_pairs()
            install(hooks, self.link)
        record_interrupts(self.request.faults(), self.stage)
        opening = census.take(self._own_fds(), own_shm=self._own_shm)
        self.journal.write("census", "opening", **opening)
        steps = self.request.steps
        ahead = list(itertools.takewhile(_strikes_construction, steps))
        for fault in ahead:
            self._step(fault)
        if self.call("construct", self.request.setup["start_within_s"], {}, self._construct):
            for step in steps[len(ahead) :]:
                self._step(step)
        self.stage.end_asides()
        self.stage.shortages.end_all()
        self._settle(opening)
        self.journal.write("note", "finished")

    def hooks(self) -> tuple[Hook, ...]:
        """What transfers go through, in whichever process; nothing if no fault strikes them."""
        if not any(hasattr(fault, "strikes_transfer") for fault in self.request.faults()):
            return ()
        return (*MULTIPROCESSING, *backend_of(self.request.adapter).hooks)

    def gate_client(self) -> GateClient:
        """A line to the gate, for one thread."""
        return GateClient(self.link.gate, self.link.hold_s)

    def _construct(self) -> dict[str, Any]:
        self.open()
        subject: Any = self.subject()
        remarks = list(getattr(subject, "remarks", ()))
        return {"pids": [int(pid) for pid in subject.worker_pids()], "remarks": remarks}

    def _step(self, step: Any) -> None:
        if isinstance(step, Phase):
            self._phase = step.phase
            self.journal.write("note", "phase", phase=step.phase)
        elif isinstance(step, Heal):
            next(f for f in self.request.faults() if f.id == step.heal).heal(self.stage)
        elif hasattr(step, "fault"):
            self._armed.append(step)
            step.arm(self.stage)
        elif step.do == "leave":
            self._leave(step)
        else:
            for _ in range(getattr(step, "times", 1)):
                self.stage.before_step()
                self.execute(step)

    def execute(self, verb: Any) -> None:
        """Run a verb once, with the faults that are placed around it."""
        self._hits[verb.do] += 1
        self._strike(verb.do, "before")
        self.ask(verb)
        self._strike(verb.do, "after")

    def ask(self, verb: Any) -> None:
        """Make a verb's call; one that is not a step of the scenario is not counted among them."""
        arguments = self.arguments(verb)
        self.call(verb.do, verb.within_s, arguments, lambda: self.perform(verb, arguments))
        self.stage.forget_interruption()

    def call(
        self,
        op: str,
        within_s: float,
        arguments: dict[str, Any],
        function: Callable[[], dict[str, Any]],
    ) -> bool:
        """Journal a call, make it, journal how it ended; whether it returned."""
        number = self._invoke(op, within_s, arguments)
        try:
            line = self._said(op, number, function())
        except BaseException as error:  # noqa: BLE001 - whatever the backend raises is what is judged
            self.journal.write("fail", op, request=number, error=describe(error))
            if self._leaves:
                self._failed = error
            else:
                traceback.clear_frames(error.__traceback__)
            returned = False
        else:
            self.journal.append(line)
            returned = True
        self.after_call()
        return returned

    def _said(self, op: str, number: int, result: dict[str, Any]) -> bytes:
        """The line of a call that has returned; what cannot be written down is no result."""
        try:
            return self.journal.line("ok", op, request=number, **result)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"the port wants other values: {error}") from error

    def _invoke(self, op: str, within_s: float, arguments: dict[str, Any]) -> int:
        number = next(self._requests)
        deadline_s = within_s * self.request.time_scale
        self.journal.write(
            "invoke",
            op,
            request=number,
            deadline_s=deadline_s,
            grace_s=grace_s(deadline_s),
            phase=self._phase,
            **arguments,
        )
        return number

    def _leave(self, verb: Leave) -> NoReturn:
        """Leave for real: the guardian, which outlives this process, says when it is gone."""
        self.stage.end_asides()
        self._hits[verb.do] += 1
        self._strike(verb.do, "before")
        setattr(sys.modules["__main__"], "session", self)  # noqa: B010 - no module has it
        self._invoke(
            verb.do,
            verb.within_s,
            {"how": verb.how, **({"code": verb.code} if verb.how == "exit" else {})},
        )
        failed, self._failed = self._failed, None  # its traceback holds this session: no cycle
        raise Leaving(Way(verb=verb, failed=failed))

    def _strike(self, op: str, edge: str) -> None:
        for fault in self._armed:
            at = fault.placement
            if at is None or at.role != "driver" or at.op != op or at.edge != edge:
                continue
            if at.k == self._hits[op]:
                fault.fire(self.stage)

    def _settle(self, opening: dict[str, Any]) -> None:
        """Take the closing census once things are as they were, or will not be any more."""
        self.call("release", RELEASE_S, {}, self._release)
        deadline = Deadline.after(SETTLE_S * self.request.time_scale)
        while True:
            gc.collect()
            closing = census.take(self._own_fds(), own_shm=self._own_shm)
            if _same(opening, closing) or deadline.expired:
                break
            pause(0.01)
        self.journal.write("census", "closing", **closing)

    def _release(self) -> dict[str, Any]:
        """Forget the backend's object: what its finalizers do is judged like any other call."""
        self.drop()
        gc.collect()
        return {}

    def _own_fds(self) -> set[int]:
        fds = self.link.own_fds() | self.gate.own_fds() | self.stage.own_fds()
        return fds | {self.journal.fd}

    def mark(self) -> None:
        """Journal what every process of the cell holds by now."""
        gc.collect()
        own = os.getppid()  # the guardian: all of the cell are its descendants
        self.journal.write("census", "mark", **holdings.take(own, own_shm=self._own_shm))


def _strikes_construction(step: Any) -> bool:
    """Whether a step is a fault that strikes the construction; ahead of all else it has to be armed first."""
    if getattr(step, "ahead", False):
        return True
    at = getattr(step, "placement", None)
    return at is not None and at.role != "driver" and at.op in ("pickle", "construct")


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as JSON values: its types, its message, what caused it, where it came from."""
    causes: list[str] = []
    seen = error.__cause__ or error.__context__
    while seen is not None and len(causes) < 5:
        causes.append(f"{type(seen).__name__}: {text_of(seen)}"[:TEXT_MAX])
        seen = seen.__cause__ or seen.__context__
    return {
        "type": type(error).__name__,
        "bases": [base.__name__ for base in type(error).__mro__[:-1]],
        "message": text_of(error)[:TEXT_MAX],
        "causes": causes,
        "traceback": "".join(traceback.format_exception(error))[-TEXT_MAX:],
    }


def _same(opening: dict[str, Any], closing: dict[str, Any]) -> bool:
    return all(opening[key] == closing[key] for key in opening)
