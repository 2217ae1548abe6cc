"""`usable_after`: after a failed call the next valid one works, or the object says that it is closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.checkers._errors import MISSING, UNHELPFUL, says_gone
from harness.checkers._rows import rows_of
from harness.checkers._shared import (
    BUILDING_VERBS,
    ENDING_VERBS,
    HOLDING_FAULTS,
    POOL,
    AnswerChecker,
    ended_ns,
    envs_struck,
    error_message,
    is_under_fault,
    named,
)
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "usable_after"
JUDGED = frozenset({"reset", "step", "recv"})


@dataclass(slots=True)
class _State:
    """What is known of a pool at one point of its history.

    Attributes:
        failed: the call that has failed since the envs were last known to be well.
        fresh: every env was reset since then, so that a step is valid.
        outstanding: by env, how many results of sends are still to come.
    """

    failed: Operation | None = None
    fresh: bool = True
    outstanding: dict[int, int] = field(default_factory=dict)


def check(history: History) -> Judgement:
    """Judge each valid call that follows a failed one."""
    judged = list(_judged(history))
    findings = tuple(
        _unusable(failed, call)
        for failed, call in judged
        if call.status != "ok" and not _says_that_it_is_over(history, call)
    )
    return Judgement(findings=findings, judged=len(judged))


def _judged(history: History) -> Iterator[tuple[Operation, Operation]]:
    """Pairs of a failed call and a valid one after it, which no further fault has hit."""
    state = _State()
    for call in history.operations:
        if call.op in ENDING_VERBS | BUILDING_VERBS:
            state = _State()
            if call.op in ENDING_VERBS:
                return  # what comes after a close is not valid
            continue
        if state.failed is not None and _is_valid(history, state, call):
            yield state.failed, call
        _advance(history, state, call)


def _is_valid(history: History, state: _State, call: Operation) -> bool:
    """Whether a pool that is well would have to answer."""
    if call.op not in JUDGED or call.completed is None or _is_hit(history, call):
        return False
    match call.op:
        case "reset":
            return not any(state.outstanding.values())
        case "step":
            return state.fresh and not any(state.outstanding.values())
        case _:
            healthy = set(state.outstanding) - _struck(history, call)
            wanted = int(call.arguments.get("min_get") or 0)
            return 0 < wanted <= sum(state.outstanding[env] for env in healthy)


def _advance(history: History, state: _State, call: Operation) -> None:
    if call.op == "send" and call.status == "ok":
        for env in range(len(call.arguments["actions"])):
            state.outstanding[env] = state.outstanding.get(env, 0) + 1
    if call.status != "ok":
        state.failed, state.fresh = call, False
    elif call.op == "reset":
        state.fresh = True
    for row in rows_of(call) if call.op == "recv" and call.status == "ok" else ():
        state.outstanding[row.env] = max(0, state.outstanding.get(row.env, 0) - 1)
    if call.op == "recv" and call.status == "fail":
        for env in _struck(history, call):
            state.outstanding.pop(env, None)  # what it was asked for has been answered by the error


def _is_hit(history: History, call: Operation) -> bool:
    """Whether a fault is reached during the call, or still holds a probe."""
    if is_under_fault(history, call, HOLDING_FAULTS):
        return True
    windows = (history.fault_window_ns(record.id) for record in history.fault_records)
    done = ended_ns(call)
    return any(
        window is not None
        and window[0] >= call.invoked.ts_ns
        and (done is None or window[0] <= done)
        for window in windows
    )


def _struck(history: History, call: Operation) -> set[int]:
    """Envs whose worker a fault had struck by the end of this call; one that was merely held goes on."""
    done = ended_ns(call)
    return {
        env
        for record in history.fault_records
        for env in envs_struck(history, record)
        if record.name not in HOLDING_FAULTS
        and (window := history.fault_window_ns(record.id)) is not None
        and (done is None or window[0] <= done)
    }


def _unusable(failed: Operation, call: Operation) -> Finding:
    lost = "the results of the other envs are lost: " if call.op == "recv" else ""
    text = f"after {named(failed)} had failed, {lost}{named(call)} raised {error_message(call)}, "
    return Finding(
        checker=NAME,
        text=f"{text}which does not say that the pool is closed or a worker dead",
        contract=Contract.EQUIVALENCE,
        events=(*failed.events, *call.events),
    )


def _says_that_it_is_over(history: History, call: Operation) -> bool:
    accident = call.error.get("type") in UNHELPFUL | MISSING
    return not accident and says_gone(history, error_message(call))


class _UsableChecker(AnswerChecker):
    """Applies where a valid call followed a failed one."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether there is such a call."""
        return super().applies(history) and any(True for _ in _judged(history))


CHECKER = _UsableChecker(name=NAME, components=POOL, check=check, verbs=JUDGED)
