"""Which steps the envs of a pool were asked for, and which of them are still to be answered."""

from __future__ import annotations

from dataclasses import dataclass

from harness.checkers._rows import Row
from harness.checkers._shared import named
from harness.model.history import Operation
from harness.model.probe import NO_ACTION, Observation


@dataclass(slots=True, eq=False)
class Request:
    """One step that one env was asked for.

    Attributes:
        env: which env.
        action: what identifies it.
        operation: what asked.
        excused: something went wrong since, so that it may stay unanswered.
        answered_by: what answered it.
    """

    env: int
    action: int
    operation: Operation
    excused: bool = False
    answered_by: Operation | None = None


class Requests:
    """The requests of one history, in the order in which they were made.

    A step is answered by itself or never. A send is answered by a later receive, first in, first
    out for each env.
    """

    def __init__(self) -> None:
        self._by_action: dict[int, Request] = {}
        self._sent: dict[int, list[Request]] = {}

    def ask(self, operation: Operation) -> None:
        """Take note of a step or send."""
        for env, action in enumerate(operation.arguments["actions"]):
            request = Request(env=env, action=int(action), operation=operation)
            self._by_action[request.action] = request
            if operation.op == "send":
                self._sent.setdefault(env, []).append(request)

    def excuse(self, env: int | None = None) -> None:
        """Whatever is outstanding, of this env or of all, may stay unanswered."""
        for queue in self._sent.values():
            for request in queue:
                request.excused |= env in (None, request.env)

    def drop(self) -> None:
        """Nothing that is outstanding can be answered any more."""
        self._sent.clear()

    def due(self) -> int:
        """How many answers must come, at least."""
        return sum(not request.excused for queue in self._sent.values() for request in queue)

    def asked(self, action: int) -> Request | None:
        """The request with this action."""
        return self._by_action.get(action)

    def answer_step(self, operation: Operation, row: Row, landed: Observation) -> str | None:
        """Match a row of a step with its own request; what is wrong, if so."""
        if landed.action == NO_ACTION:
            # An env that resets in this step ignores the action: only the row's place tells.
            actions = operation.arguments["actions"]
            known = 0 <= row.env < len(actions)
            request = self._by_action.get(int(actions[row.env])) if known else None
        else:
            request = self._by_action.get(landed.action)
        wrong = self._strange(request, row, landed)
        if wrong is None and request is not None and request.operation is not operation:
            wrong = f"it answers request {request.action} of {named(request.operation)}"
            wrong += f", which {_fate(request.operation)}: a late answer is taken for the next"
        if request is not None and wrong is None:
            request.answered_by = operation
        return wrong

    def answer_send(self, operation: Operation, row: Row, landed: Observation) -> str | None:
        """Match a row of a receive with the env's next request; what is wrong, if so."""
        queue = self._sent.get(row.env, [])
        if landed.action == NO_ACTION:
            return self._answer_unnamed(operation, row, queue)
        request = self._by_action.get(landed.action)
        wrong = self._strange(request, row, landed)
        if wrong or request is None:
            return wrong
        if request not in queue:
            return (
                f"it answers request {request.action} of {named(request.operation)}, which "
                f"{_fate(request.operation)}: a late answer is taken for the next"
            )
        skipped = queue[: queue.index(request)]
        del queue[: len(skipped) + 1]
        request.answered_by = operation
        lost = [str(each.action) for each in skipped if not each.excused]
        if lost:
            return f"it answers request {request.action} before {', '.join(lost)}"
        return None

    def _answer_unnamed(self, operation: Operation, row: Row, queue: list[Request]) -> str | None:
        """A reset that took the place of a step answers the oldest request, as far as one can tell."""
        if not queue:
            return f"env {row.env} was not asked for anything"
        request = queue.pop(0)
        request.answered_by = operation
        if request.excused:
            for other in queue:  # it may have been any of them
                other.excused = True
        return None

    def _strange(self, request: Request | None, row: Row, landed: Observation) -> str | None:
        """What is wrong with the row whatever operation returned it."""
        if landed.env_index != row.env:
            return f"its observation is env {landed.env_index}'s"
        if request is None:
            return f"it answers request {landed.action}, which was never sent"
        if request.env != row.env:
            return f"it answers request {request.action}, which was sent to env {request.env}"
        if request.answered_by is not None:
            return f"it answers request {request.action}, as {named(request.answered_by)} did"
        if landed.action != NO_ACTION and not row.claims(landed.action):
            return f"the batch says action {row.action}, and the env took {landed.action}"
        return None


def _fate(operation: Operation) -> str:
    match operation.status:
        case "ok":
            return "returned without it"
        case "fail":
            return "failed"
        case _:
            return "did not end"
