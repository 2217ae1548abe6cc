"""`spec_conformance`: every entry point returns what the specs say, and what a serial env returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.checkers._descriptions import (
    Leaf,
    answering,
    called,
    comparisons,
    first_of_rows,
    form_differs,
    row_order,
    summary,
    values_differ,
)
from harness.checkers._shared import POOL, AnswerChecker
from harness.model.history import Event, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "spec_conformance"
# Where the roots are in what an entry point returns; `private_step` returns what comes below `next`.
_ROOTS: Mapping[str, tuple[str, ...]] = {
    "reset": ("",),
    "step": ("",),
    "step_and_maybe_reset": ("stepped/", "root/"),
    "private_reset": ("",),
    "rollout": ("",),
}
# Where the mark may be, but need not: it comes along with what the caller gave.
_CARRIED: Mapping[str, tuple[str, ...]] = {"rand_action": ("",), "specs": ("full_state_spec/",)}


def check(history: History) -> Judgement:
    """Hold each result against the specs, the serial twin and, in a root, the mark of who answered."""
    mark = str(history.properties.get("mark", ""))
    findings: list[Finding] = []
    judged = 0
    in_step = True  # the twin has done what the pool has
    for operation in comparisons(history):
        if operation.status == "ok":
            judged += 1
            findings += _judge(operation, mark, in_step=in_step)
        else:
            in_step = False
    findings += _sent_to_envs(history, mark)
    return Judgement(findings=tuple(findings), judged=judged)


def _judge(operation: Operation, mark: str, *, in_step: bool) -> Iterator[Finding]:
    returned, promised = operation.result["returned"], operation.result["promised"]
    entry = str(operation.arguments["entry"])
    broken = [text for key, leaf in promised.items() if (text := _form(key, returned, leaf))]
    if broken:
        text = f"{called(operation)} is not what the specs say: {summary(broken)}"
        yield _finding(text, operation, Contract.DOCUMENTED)
    places = _ROOTS.get(entry.removeprefix("async_"), ())
    if mark:
        wrong = [text for at in places if (text := _mark(f"{at}{mark}", operation))]
        if wrong:
            text = f"{called(operation)} does not say which envs answered: {summary(wrong)}"
            yield _finding(text, operation, Contract.DOCUMENTED)
    own = {f"{at}{mark}" for at in (*places, *_CARRIED.get(entry, ())) if mark}
    other = list(_differences(operation, own, in_step=in_step))
    if other:
        text = f"{called(operation)} is not what a serial env returns: {summary(other)}"
        yield _finding(text, operation, Contract.EQUIVALENCE)


def _form(key: str, found: Mapping[str, Leaf], wanted: Leaf) -> str | None:
    return form_differs(key, found[key], wanted) if key in found else f"{key} is missing"


def _mark(key: str, operation: Operation) -> str | None:
    """What is wrong with the mark: an object for each row, expanded to the batch, which says whose it is."""
    found = operation.result["returned"].get(key)
    if found is None:
        return f"{key} is missing"
    if found["kind"] != "object":
        return f"{key} is a {found['kind']}, not an object"
    envs = first_of_rows(found["values"])
    if envs is None or sorted(envs) != answering(operation):
        return f"{key} is {found['values']} where envs {answering(operation)} answered"
    if operation.arguments["entry"] == "rollout" and len(found["shape"]) < 2:
        return f"{key} has shape {found['shape']}, which is not the batch's"
    return None


def _differences(operation: Operation, own: set[str], *, in_step: bool) -> Iterator[str]:
    """How the result differs from the twin's; `own`: where only the pool has an entry."""
    found = operation.result["returned"]
    wanted = operation.arguments["expected"]
    order = row_order(found, own, answering(operation))
    yield from (f"{key} is missing" for key in wanted if key not in found)
    yield from (f"{key} is too much" for key in found if key not in wanted and key not in own)
    for key in (key for key in wanted if key in found):
        wrong = form_differs(key, found[key], wanted[key])
        if wrong is None and in_step:
            wrong = values_differ(key, found[key], wanted[key], order)
        if wrong is not None:
            yield wrong


def _sent_to_envs(history: History, mark: str) -> Iterator[Finding]:
    """The mark is the pool's own: an env that is given it may take it for its own entry."""
    if not mark:
        return
    seen: dict[str, Event] = {}
    for event in history.of_kind(Kind.OBSERVE):
        if event.op == "given" and mark in event.data["keys"]:
            seen.setdefault(event.role, event)
    if seen:
        yield Finding(
            checker=NAME,
            text=f"{mark}, the pool's own entry, is handed to the envs ({', '.join(sorted(seen))})",
            contract=Contract.EQUIVALENCE,
            events=tuple(event.seq for event in seen.values()),
        )


def _finding(text: str, operation: Operation, contract: Contract) -> Finding:
    return Finding(checker=NAME, text=text, contract=contract, events=operation.events)


CHECKER = AnswerChecker(name=NAME, components=POOL, check=check, verbs=frozenset({"compare"}))
