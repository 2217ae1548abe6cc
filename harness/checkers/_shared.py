"""What several checkers ask of a history: names for findings, errors, and which faults were in force."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from harness.model.history import Event, FaultRecord, History, Kind, Operation
from harness.model.verdict import Contract, Finding
from harness.ports.checkers import Checker

POOL = frozenset({"pool"})
WEIGHTS = frozenset({"weights"})
STORAGE = frozenset({"storage"})
EITHER = POOL | WEIGHTS
ANY = EITHER | STORAGE

BUILDING_VERBS = frozenset({"construct", "replace", "rebuild", "build_anew"})
"""After one of them the object is another one than before."""
ENDING_VERBS = frozenset({"shutdown", "collect_garbage", "release", "leave"})
ASKING_VERBS = frozenset(
    {"reset", "reset_where", "step", "send", "recv", "rollout", "compare"}
    | {"forward", "send_async", "wait_async", "race", "restart_worker"}
)
"""Those that nobody can answer for a pool, or for weights, once it is closed."""
HOLDING_FAULTS = frozenset({"stall", "stop", "freeze", "hold_forward", "hold_apply"})
LOSING_FAULTS = frozenset(
    {
        "raise",
        "exit",
        "signal",
        "kill",
        "bad_reply",
        "close_channel",
        "cut_channel",
        "fail_transfer",
        "drop_transfer",
        "truncate_transfer",
        "unrebuildable_item",
        "tear_transfer",
    }
)
"""Those that may cost the answer to a request that they strike, whether or not a call fails."""


SHARED_CHILDREN = frozenset({"batched", "grouped"})
"""Payloads whose workers hold several envs."""
WORKERS_ENDS = frozenset({"exit", "signal", "kill", "tear_transfer", "cut_channel"})
"""Those that cost a worker process, with whatever envs it has."""


def envs_struck(history: History, record: FaultRecord) -> frozenset[int]:
    """The envs that a fault may cost what they were doing; none, if it names no worker."""
    if record.worker is None:
        return frozenset()
    if record.name not in WORKERS_ENDS or history.setup.get("transport") == "thread":
        return frozenset({record.worker})
    return beside(history, record.worker)


def beside(history: History, env: int) -> frozenset[int]:
    """An env, and those that share its worker."""
    count = int(history.setup.get("envs_per_worker", 1))
    if count == 1:
        return frozenset({env})
    first = env // count * count
    return frozenset(range(first, min(first + count, int(history.setup["num_envs"]))))


def restarts(history: History) -> bool:
    """Whether the backend was asked to replace lost workers."""
    return history.setup.get("on_worker_failure") == "restart"


def resets_in_step(history: History) -> bool:
    """Whether an env whose episode ended is reset within the step that ended it."""
    return bool(history.properties.get("autoreset", "same_step") == "same_step")


def silent_workers(checker: str, operation: Operation, workers: Iterable[int]) -> Iterator[Finding]:
    """Find that of some workers, each of which owes a row, the answer has none."""
    missing = sorted(set(workers) - {int(row["worker"]) for row in operation.rows})
    if missing:
        text = f"{named(operation)} has no row of workers {missing}"
        yield finding_on(checker, text, operation)


def is_judged_draw(event: Event) -> bool:
    """Whether an env of the pool that is judged has drawn a number; one of a pool beside it has another role."""
    own = event.role.startswith("worker:")
    return own and event.kind is Kind.OBSERVE and "draw" in event.data


class AnswerChecker(Checker):
    """Judges what a backend answers.

    One whose constructor raised has not been asked anything; one whose first call was struck, and
    none after it succeeded, had nothing to answer with.
    """

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether the scenario can produce answers, and there was somebody to give them."""
        silent = frozenset({"construct", *ENDING_VERBS})
        built = all(op.status == "ok" for op in history.operations if op.op == "construct")
        calls = [op for op in history.operations if op.op not in silent]
        struck = calls and all(op.status == "fail" and is_under_fault(history, op) for op in calls)
        return built and not struck and super().applies(history)


def named(operation: Operation) -> str:
    """How a finding speaks of an operation."""
    return f"{operation.op} (request {operation.id})"


def finding_on(
    checker: str,
    text: str,
    *operations: Operation,
    contract: Contract = Contract.EQUIVALENCE,
) -> Finding:
    """A finding whose evidence is all that is known of these operations."""
    events = tuple(event for op in operations for event in op.events)
    return Finding(checker=checker, text=text, contract=contract, events=events)


def error_message(operation: Operation) -> str:
    """Type and message of what an operation raised, in one line."""
    error = operation.error
    lines = str(error.get("message", "")).splitlines()
    return f"{error.get('type', 'an error')}: {lines[0] if lines else ''}"[:300]


def after_close(history: History) -> frozenset[int]:
    """The requests, by id, that were made of what had been closed by then, and not built anew."""
    found: set[int] = set()
    closed_ns: int | None = None
    for operation in history.operations:
        if operation.op in BUILDING_VERBS:
            closed_ns = None
        elif operation.op in ENDING_VERBS:
            closed_ns = ended_ns(operation) if operation.status == "ok" else closed_ns
        elif closed_ns is not None and operation.invoked.ts_ns >= closed_ns:
            found.add(operation.id)
    return frozenset(found)


def is_timeout(operation: Operation) -> bool:
    """Whether it raised a TimeoutError of whatever module."""
    names = (operation.error.get("type", ""), *operation.error.get("bases", ()))
    return any(str(name).rpartition(".")[2] == "TimeoutError" for name in names)


def timed_out_as_asked(history: History, operation: Operation) -> bool:
    """Whether it is a receive with a timeout that has run out while a probe was held."""
    timed = operation.op == "recv" and operation.arguments.get("timeout_s") is not None
    return timed and is_timeout(operation) and is_under_fault(history, operation, HOLDING_FAULTS)


def ended_ns(operation: Operation) -> int | None:
    """When it was completed, CLOCK_MONOTONIC in ns; None while open."""
    return None if operation.completed is None else operation.completed.ts_ns


def overlaps(operation: Operation, window: tuple[int, int | None]) -> bool:
    """Whether any part of an operation falls into a window; one that is open never ends."""
    start, end = window
    done = ended_ns(operation)
    return (done is None or done >= start) and (end is None or operation.invoked.ts_ns <= end)


def fault_windows(
    history: History, names: Collection[str] | None = None
) -> list[tuple[int, int | None]]:
    """From when to when each reached fault was in force; only faults of these names, if given."""
    wanted = (r.id for r in history.fault_records if names is None or r.name in names)
    windows = (history.fault_window_ns(fault_id) for fault_id in wanted)
    return [window for window in windows if window is not None]


def is_under_fault(
    history: History, operation: Operation, names: Collection[str] | None = None
) -> bool:
    """Whether a fault (of these names) was in force during any part of an operation."""
    return any(overlaps(operation, window) for window in fault_windows(history, names))


def hung(history: History) -> list[Operation]:
    """The operations for whose sake the driver was ended from outside.

    The session ends when the first open operation has used up its deadline and grace; another one
    that is open then is late itself only if its own deadline had passed as well.
    """
    if history.ending.hang is None and not history.ending.ended_by_us:
        return []
    left_open = [op for op in history.operations if op.status == "open"]
    if not left_open:
        return []
    ended_at = min(_due_ns(op) + _grace_ns(op) for op in left_open)
    return [op for op in left_open if _due_ns(op) <= ended_at]


def _due_ns(operation: Operation) -> int:
    return operation.invoked.ts_ns + round(operation.deadline_s * 1e9)


def _grace_ns(operation: Operation) -> int:
    return round(float(operation.arguments.get("grace_s", 0.0)) * 1e9)
