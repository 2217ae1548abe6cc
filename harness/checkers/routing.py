"""`routing`: every request is answered once, by the env that was asked, and by no late answer."""

from __future__ import annotations

from collections.abc import Iterator

from harness.checkers._requests import Requests
from harness.checkers._rows import Row, rows_of
from harness.checkers._shared import (
    BUILDING_VERBS,
    LOSING_FAULTS,
    POOL,
    SHARED_CHILDREN,
    AnswerChecker,
    envs_struck,
    is_timeout,
    named,
    resets_in_step,
    restarts,
)
from harness.model.history import Event, History, Kind, Operation
from harness.model.probe import NO_ACTION
from harness.model.verdict import Contract, Finding, Judgement

NAME = "routing"
ASKING = frozenset({"step", "send"})
ANSWERING = frozenset({"step", "recv", "rollout"})


class _Router:
    """Follows a history in the order of its events."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._same_step = resets_in_step(history)
        self._requests = Requests()
        self._observed: dict[int, Event] = {}
        self._operations = {op.invoked.seq: op for op in history.operations} | {
            op.completed.seq: op for op in history.operations if op.completed is not None
        }
        self._losing = {r.id: r for r in history.fault_records if r.name in LOSING_FAULTS}
        # An env of its own in each worker, or several, which all answer through one.
        self._alone = history.setup.get("payload") not in SHARED_CHILDREN
        self.judged = 0

    def findings(self) -> Iterator[Finding]:
        for event in self._history.events:
            match event.kind:
                case Kind.INVOKE:
                    self._invoked(self._operations[event.seq])
                case Kind.OK | Kind.FAIL | Kind.INFO if event.seq in self._operations:
                    yield from self._completed(self._operations[event.seq])
                case Kind.FAULT if event.data["record"] in ("reached", "effect"):
                    self._struck(event.data["id"])
                case _:
                    pass
        yield from self._env_side()

    def _struck(self, fault_id: str) -> None:
        """What a fault can lose is what its worker owes; one that only delays loses nothing."""
        record = self._losing.get(fault_id)
        if record is None:
            return
        struck = envs_struck(self._history, record) if self._alone else frozenset()
        for env in struck or (None,):
            self._requests.excuse(env)

    def _invoked(self, operation: Operation) -> None:
        if operation.op in ASKING:
            self._requests.ask(operation)
        if operation.status == "open":
            self._requests.excuse()

    def _completed(self, operation: Operation) -> Iterator[Finding]:
        if operation.op in BUILDING_VERBS or operation.op == "shutdown":
            self._requests.drop()
        elif operation.status != "ok":
            # A receive that was merely late loses nothing: what it did not get is still to come.
            if not (operation.op == "recv" and is_timeout(operation)):
                self._requests.excuse()
        elif operation.op.startswith("reset"):
            self._requests.excuse()
        elif operation.op in ANSWERING:
            yield from self._answers(operation)

    def _answers(self, operation: Operation) -> Iterator[Finding]:
        rows = rows_of(operation)
        if operation.op == "step":
            missing = sorted(
                set(range(len(operation.arguments["actions"]))) - {r.env for r in rows}
            )
            if missing:
                yield _finding(
                    f"no row of {named(operation)} answers for envs {missing}", operation
                )
        if operation.op == "rollout" and (text := self._too_few(operation, rows)) is not None:
            yield _finding(text, operation)
        if operation.op == "recv":
            wanted = min(int(operation.arguments.get("min_get") or 0), self._requests.due())
            if len(rows) < wanted:
                text = f"{named(operation)} returned {len(rows)} results, and had to get {wanted}"
                yield _finding(text, operation)
        for row in rows:
            self.judged += 1
            wrong = self._wrong(operation, row)
            if wrong:
                yield _finding(f"row of env {row.env} in {named(operation)}: {wrong}", operation)

    def _too_few(self, operation: Operation, rows: list[Row]) -> str | None:
        """What a rollout lacks; it may have more than was asked for, as its envs step together."""
        frames, envs = int(operation.arguments["frames"]), int(self._history.setup["num_envs"])
        if len(rows) < frames:
            return f"{named(operation)} returned {len(rows)} frames, and had to get {frames}"
        silent = sorted(set(range(envs)) - {row.env for row in rows})
        if silent and frames >= envs:
            return f"no frame of {named(operation)} is of envs {silent}"
        return None

    def _wrong(self, operation: Operation, row: Row) -> str | None:
        if operation.op == "rollout":
            return _wrong_transition(row)
        landed = row.landed(same_step=self._same_step)
        if restarts(self._history) and row.cut_off:
            return None  # its env was lost with the request, and shows where it was before
        if landed is None or row.unreadable or not landed.whole:
            self._requests.excuse()  # nobody can tell which request this answers
            return None
        if landed.action == NO_ACTION and (self._same_step or landed.step != 0):
            self._requests.excuse()
            return "it answers no request: its observation is a reset's"
        next_one = row.observation
        if next_one is not None and next_one.env_index != row.env:
            return f"its observation is env {next_one.env_index}'s"
        if operation.op == "step":
            return self._requests.answer_step(operation, row, landed)
        return self._requests.answer_send(operation, row, landed)

    def _env_side(self) -> Iterator[Finding]:
        """What the envs saw; actions that only the backend knows are not judged."""
        for event in self._history.of_kind(Kind.OBSERVE):
            action = event.data.get("action")
            request = None if action is None else self._requests.asked(round(action))
            if event.op != "step" or request is None:
                continue
            self.judged += 1
            first = self._observed.setdefault(request.action, event)
            asked = f"request {request.action} of {named(request.operation)}"
            if event.role != f"worker:{request.env}":
                text = f"{asked} was for env {request.env}, and {event.role} stepped with it"
                yield _finding(text, request.operation, event)
            elif first is not event:
                text = f"{asked} stepped env {request.env} twice"
                yield _finding(text, request.operation, first, event)


def _wrong_transition(row: Row) -> str | None:
    for seen in (row.observation, row.final):
        if seen is not None and seen.env_index != row.env:
            return f"its observation is env {seen.env_index}'s"
    end = row.final
    if end is not None and end.action != NO_ACTION and not row.claims(end.action):
        return f"the batch says action {row.action}, and the env took {end.action}"
    return None


def _finding(text: str, operation: Operation, *events: Event) -> Finding:
    return Finding(
        checker=NAME,
        text=text,
        contract=Contract.EQUIVALENCE,
        events=(*operation.events, *(event.seq for event in events)),
    )


def check(history: History) -> Judgement:
    """Judge every row that answers a step, and every step that an env saw."""
    router = _Router(history)
    findings = tuple(router.findings())
    return Judgement(findings=findings, judged=router.judged)


CHECKER = AnswerChecker(name=NAME, components=POOL, check=check, verbs=ASKING | ANSWERING)
