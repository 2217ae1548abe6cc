"""`writes_input`: a call writes into the caller's data what its backend declares, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.checkers._descriptions import (
    Leaf,
    called,
    comparisons,
    form_differs,
    summary,
    values_differ,
)
from harness.checkers._shared import POOL, AnswerChecker
from harness.model.history import History, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "writes_input"


class _GivenChecker(AnswerChecker):
    """Applies where a call was given something that it could have written into."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether a call returned that had been given data, with no host around it to write as well."""
        bare = history.setup.get("host") == "bare"
        return bare and any(True for _ in _given(history)) and super().applies(history)


def check(history: History) -> Judgement:
    """Compare what each call was given with what it is after the call."""
    declared = set(history.properties.get("writes_input", ()))
    places = {"next": "next", "env_index": str(history.properties.get("mark", ""))}
    allowed = {place for word, place in places.items() if word in declared}
    findings: list[Finding] = []
    judged = 0
    for operation in _given(history):
        judged += 1
        given, after = operation.result["given"], operation.result["given_after"]
        mine = allowed | _asked_for(operation, writes_root="root" in declared)
        written = [each for each in _written(given, after) if not _within(each[0], mine)]
        if written:
            findings.append(_finding(operation, [text for _, text in written]))
    return Judgement(findings=tuple(findings), judged=judged)


def _given(history: History) -> Iterator[Operation]:
    return (op for op in comparisons(history) if op.result.get("given") is not None)


def _asked_for(operation: Operation, *, writes_root: bool) -> set[str]:
    """What a call makes, where it is there to write it: actions, into the data that they are drawn for."""
    entry = operation.arguments["entry"]
    writes = entry == "rand_action" or (writes_root and entry == "reset")
    return set(operation.result["promised"]) if writes else set()


def _within(key: str, allowed: set[str]) -> bool:
    return any(key == word or key.startswith(f"{word}/") for word in allowed)


def _written(given: Mapping[str, Leaf], after: Mapping[str, Leaf]) -> Iterator[tuple[str, str]]:
    """Each entry that was written, with what became of it."""
    for key in sorted(given.keys() | after.keys()):
        if key not in after:
            yield key, f"{key} is gone"
        elif key not in given:
            yield key, f"{key} is new"
        else:
            text = form_differs(key, after[key], given[key])
            text = text or values_differ(key, after[key], given[key])
            if text is not None:
                yield key, text


def _finding(operation: Operation, written: list[str]) -> Finding:
    return Finding(
        checker=NAME,
        text=f"{called(operation)} wrote into what the caller gave: {summary(written)}",
        contract=Contract.EQUIVALENCE,
        events=operation.events,
    )


CHECKER = _GivenChecker(name=NAME, components=POOL, check=check, verbs=frozenset({"compare"}))
