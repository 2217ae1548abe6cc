"""`clean_exit`: a process that leaves without closing is gone in time, with its own exit code, and quietly."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from harness.checkers._leaving import LEAVING_FAULTS, LeavingChecker, aftermath
from harness.checkers._shared import ANY, error_message, hung
from harness.checkers.bounded_calls import endlessness, lateness
from harness.model.history import Event, History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "clean_exit"
SPEAKING = frozenset({"exception", "uncaught"})  # ways to leave that print a traceback
KILLED = frozenset({int(signal.SIGKILL), int(signal.SIGTERM)})
INTERRUPTED = ({"signal": int(signal.SIGINT)}, {"exit_code": 128 + int(signal.SIGINT)})


def check(history: History) -> Judgement:
    """Judge the leave, if there is one, and what was printed, unless the cell had to be ended."""
    leaves = [op for op in history.operations if op.op == "leave"]
    findings = [endlessness(NAME, history, op) for op in hung(history) if op in leaves]
    judged = len(leaves)
    for op in (op for op in leaves if op.completed is not None):
        findings += [found for found in (lateness(NAME, op), _wrong_code(history, op)) if found]
    seen = aftermath(history)
    if seen is not None and not history.ending.ended_by_us:
        judged += 1
        findings += _wrong_end(history, seen)
        findings += [*_ignored(history, seen), *_noise(history, seen, leaves)]
    return Judgement(findings=tuple(findings), judged=judged)


def _wrong_code(history: History, leave: Operation) -> Finding | None:
    """How the process ended, if not as it was told."""
    wanted, why = _owed(history, leave)
    ended = {key: leave.result[key] for key in ("exit_code", "signal") if key in leave.result}
    if ended in wanted:
        return None
    return Finding(
        checker=NAME,
        text=f"the process ended with {_code(ended)}: {why}, which is {_code(wanted[0])}",
        contract=Contract.EQUIVALENCE,
        events=leave.events,
    )


def _wrong_end(history: History, seen: Event) -> Iterator[Finding]:
    """How an owner ended that was sent SIGTERM, if not as one that has no pool, or as shells say it."""
    terminated = {fault["id"] for fault in history.faults if fault.get("signal") == "TERM"}
    struck = {
        each.id for each in history.fault_records if each.name in LEAVING_FAULTS and each.effect
    }
    ending = history.ending
    if not terminated & struck or ending.exit_code in (None, 128 + signal.SIGTERM):
        return
    yield Finding(
        checker=NAME,
        text=f"the process ended with exit code {ending.exit_code}: it was sent SIGTERM, "
        f"which is signal {int(signal.SIGTERM)}, or exit code {128 + signal.SIGTERM}",
        contract=Contract.EQUIVALENCE,
        events=(seen.seq,),
    )


def _owed(history: History, leave: Operation) -> tuple[tuple[dict[str, int], ...], str]:
    """How a single process would end that is left in this way, and why."""
    failed = [op for op in history.operations if op.status == "fail"]
    match leave.arguments["how"]:
        case "return":
            return ({"exit_code": 0},), "it had come to the end of its script"
        case "exit":
            code = int(leave.arguments["code"])
            return ({"exit_code": code},), f"it called sys.exit({code})"
        case "uncaught" if not failed and any(each.effect for each in history.fault_records):
            # Nothing was raised where something should have been: a script that goes wrong says so.
            return (
                {"exit_code": 1},
            ), "a call that a fault has hit is to raise, and nobody catches it"
        case "uncaught" if not failed:
            return ({"exit_code": 0},), "nothing was raised, nor was anything to be"
        case "uncaught" if failed[-1].error.get("type") == "KeyboardInterrupt":
            return INTERRUPTED, "an interrupt was left uncaught"
        case _:
            raised = error_message(failed[-1]) if failed else "an exception"
            return ({"exit_code": 1},), f"{raised} was left uncaught"


def _code(ended: dict[str, int]) -> str:
    if "signal" in ended:
        return f"signal {ended['signal']}"
    return f"exit code {ended.get('exit_code')}"


def _ignored(history: History, seen: Event) -> Iterator[Finding]:
    ignored = seen.data["stderr"]["ignored"]
    if ignored:
        more = f" (and {len(ignored) - 1} more)" if len(ignored) > 1 else ""
        yield _printed(history, f"a finalizer failed at exit: {ignored[0]}{more}", seen)


def _noise(history: History, seen: Event, leaves: list[Operation]) -> Iterator[Finding]:
    """More tracebacks than the one that the user is owed; faults of workers may print their own."""
    if any(fault["fault"] not in LEAVING_FAULTS for fault in history.faults):
        return
    count = int(seen.data["stderr"]["tracebacks"])
    told = any(op.arguments["how"] in SPEAKING for op in leaves)
    interrupted = bool(history.faults) and not _killed(history)
    allowed = 1 if told or interrupted else 0
    if count > allowed:
        raised = seen.data["stderr"]["raised"]
        example = f", one of {raised[-1]}" if raised else ""
        workers = seen.data["stderr"].get("workers", ())
        theirs = f", {len(workers)} from workers ({', '.join(workers)})" if workers else ""
        text = f"{count} tracebacks on stderr instead of {allowed}{theirs}{example}"
        yield _printed(history, text, seen)
    for op in leaves:
        if op.arguments["how"] == "exception" and count == 0:
            yield _printed(history, "its own traceback is not on stderr", seen)


def _printed(history: History, text: str, seen: Event) -> Finding:
    """Workers of an owner that was killed have nobody left to tell: what they print is a matter of taste."""
    contract = Contract.OPINION if _killed(history) else Contract.EQUIVALENCE
    return Finding(checker=NAME, text=text, contract=contract, events=(seen.seq,))


def _killed(history: History) -> bool:
    return history.ending.signal in KILLED


CHECKER = LeavingChecker(name=NAME, components=ANY, check=check)
