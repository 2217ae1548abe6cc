"""`no_leaks`: descriptors, threads, children, shared memory and temporary files: after as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from harness.checkers._leaving import aftermath
from harness.checkers._shared import ANY, BUILDING_VERBS, named
from harness.model.history import Event, History, Kind
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "no_leaks"
HARMLESS_TARGETS = frozenset({"/dev/null"})
DROPPING = frozenset({"replace", "collect_garbage"})
SEMAPHORE = "sem."  # how the C library calls them in /dev/shm
LISTED_MAX = 20
# What goes away by itself sooner or later: on a busy machine, later than we wait.
LATE = ("the process ", "file descriptors ", "threads ", "child processes ")


def check(history: History) -> Judgement:
    """Compare the two censuses, and look at what was there after the driver had left."""
    found: list[tuple[str, tuple[int, ...]]] = []
    judged = 0
    opening, closing = (_census(history, op) for op in ("opening", "closing"))
    if opening is not None and closing is not None:
        judged += 1
        evidence = (opening.seq, closing.seq)
        found += [(text, evidence) for text in _excess(opening.data, closing.data)]
    if _left_by_itself(history):
        judged += len(history.leftovers)
        found += [(text, ()) for text in _left_over(history)]
    elif history.left_as_asked:  # which of its processes go on living is another checker's case
        judged += 1
        # Whom a signal ended cannot remove files; names are for the resource tracker, which outlives it.
        kinds = ("shm",) if history.ending.signal is not None else ("shm", "file")
        found += [(text, ()) for text in _left_over(history, *kinds)]
    found += _cleaned_up(history)
    return Judgement(findings=tuple(_findings(history, found)), judged=judged)


def _findings(history: History, found: list[tuple[str, tuple[int, ...]]]) -> Iterable[Finding]:
    """What is left, with why nobody can close it where that is so."""
    contract = _contract(history)
    unbuilt = [op for op in history.operations if op.op in BUILDING_VERBS and op.status == "fail"]
    for text, evidence in found:
        why, shown = "", evidence
        if unbuilt:
            why = f"{named(unbuilt[-1])} raised, and nobody can close what it left: "
            shown = (*unbuilt[-1].events, *evidence)
        yield Finding(
            checker=NAME,
            text=why + text,
            contract=contract,
            events=shown,
            leak=True,
            time=text.startswith(LATE),
        )


def _contract(history: History) -> Contract:
    """A backend that does not promise to release what is merely dropped is only told so."""
    if history.properties.get("closes_by_itself", True):
        return Contract.LIVENESS
    dropped = any(op.op in DROPPING for op in history.operations)
    closed = any(op.op == "shutdown" for op in history.operations)
    return Contract.LIVENESS if closed and not dropped else Contract.OPINION


def _left_by_itself(history: History) -> bool:
    """Whether the driver came to its end; what a broken off one leaves is a consequence."""
    ending = history.ending
    return (
        ending.finished and not ending.ended_by_us and ending.hang is None and ending.signal is None
    )


def _left_over(history: History, *only: str) -> list[str]:
    kinds = {
        "process": "the process",
        "shm": "in shared memory, the name",
        "file": "the temporary file",
    }
    return [
        f"{kinds[left.kind]} {left.name} was still there after the driver had left"
        for left in history.leftovers
        if not only or left.kind in only
    ]


def _cleaned_up(history: History) -> Iterable[tuple[str, tuple[int, ...]]]:
    """What was gone in the end only because Python's resource tracker found it forgotten."""
    seen = aftermath(history)
    if seen is None or history.ending.signal is not None or history.ending.ended_by_us:
        return
    for told in seen.data["stderr"].get("tracked", ()):
        yield f"left to the resource tracker: {told}", (seen.seq,)


def _census(history: History, op: str) -> Event | None:
    found = [event for event in history.of_kind(Kind.CENSUS) if event.op == op]
    return found[-1] if found else None


def _excess(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    descriptors = [
        f"{more} more open on {target}"
        for target, more in _more(_targets(before), _targets(after))
        if target not in HARMLESS_TARGETS
    ]
    threads = [
        f"{more} more named {name}"
        for name, more in _more(Counter(before["threads"]), Counter(after["threads"]))
    ]
    known = {child["pid"] for child in before["children"]}
    children = [
        f"{child['name']} (pid {child['pid']})"
        for child in after["children"]
        if child["pid"] not in known
    ]
    names = sorted(set(after["shm"]) - set(before["shm"]))
    semaphores = [name for name in names if name.startswith(SEMAPHORE)]
    kinds = {
        "file descriptors": descriptors,
        "threads": threads,
        "child processes": children,
        "named semaphores": semaphores,
        "names in shared memory": [name for name in names if name not in semaphores],
        "mappings of shared memory": _mappings(before, after),
        "temporary files": sorted(set(after.get("files", ())) - set(before.get("files", ()))),
    }
    return [f"{kind} left behind: {_listed(found)}" for kind, found in kinds.items() if found]


def _mappings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Targets of mappings that are new, with how many there are of each."""
    counts = (Counter(census.get("mappings", {})) for census in (before, after))
    return [f"{more} of {target}" for target, more in _more(*counts)]


def _listed(found: list[str]) -> str:
    more = f"; and {len(found) - LISTED_MAX} more" if len(found) > LISTED_MAX else ""
    return "; ".join(found[:LISTED_MAX]) + more


def _targets(census: Mapping[str, Any]) -> Counter[str]:
    return Counter({str(target): int(count) for target, count in census["fds"].items()})


def _more(before: Counter[str], after: Counter[str]) -> Iterable[tuple[str, int]]:
    return sorted((after - before).items())


CHECKER = Checker(name=NAME, components=ANY, check=check)
