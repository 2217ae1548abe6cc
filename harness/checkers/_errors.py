"""What errors say: of the end of a worker or a pool, in words that are not the harness's own."""

from __future__ import annotations

import re

from harness.model.history import History, Kind, Operation

UNHELPFUL = frozenset(
    {"AttributeError", "TypeError", "NameError", "AssertionError", "UnboundLocalError"}
)
"""Types that only say that something in the code has gone wrong."""
MISSING = frozenset({"KeyError", "IndexError"})
"""Types whose message is what was looked for: `terminated` is a key."""

GONE = re.compile(
    r"(?<!en)(?<!dis)clos(?:ed|ing)(?![ _-]loop)"
    r"|\b(?:died|dead|killed)\b|(?-i:Died|Dead(?=[A-Z])|(?<=[a-z])Dead\b)"
    r"|\bexit[ _-]?(?:code|status)|\bexited (?:with|unexpectedly|early|before|by|while)\b"
    r"|\b(?:has|have|had|was|were|is|are) (?:unexpectedly |already )?exited\b|(?-i:Exited)"
    r"|\b(?:workers?|process(?:es)?|envs?|environments?|pool)(?:[ _#:(]*\d+\)?)? (?:exit(?:s|ed)|terminated)\b"
    r"|\b(?:has|have|had|was|were|is|are|been) (?:unexpectedly |already )?terminated\b"
    r"|\bterminated (?:by|with|unexpectedly|abruptly|prematurely)\b"
    r"|\bsignal -?\d+|\bSIG(?:KILL|TERM|INT|HUP|SEGV|ABRT|BUS|STOP)\b"
    r"|\bshut(?:ting)? ?down\b|\b(?:not alive|no longer (?:alive|running))\b"
    r"|\bEOF(?:Error)?\b|broken ?pipe|connection ?reset|reset by peer",
    re.IGNORECASE,
)
"""Somebody is gone. The vocabulary of the trade alone does not say so: the key `terminated`, a
deadline, a loop that was exited."""


def markers_of(history: History, fault_id: str | None = None) -> list[str]:
    """The words that faults (or one of them) have put into what their probes raise."""
    found = (
        str(event.data["marker"])
        for event in history.of_kind(Kind.FAULT)
        if event.data.get("marker") and fault_id in (None, event.data.get("id"))
    )
    return list(dict.fromkeys(found))


def without(text: str, words: list[str]) -> str:
    """A text without these: what is left is the backend's own."""
    for each in words:
        text = text.replace(each, "")
    return text


def message(operation: Operation) -> str:
    """What it raised says, with its causes."""
    error = operation.error
    return "\n".join(map(str, (error.get("message", ""), *error.get("causes", ()))))


def statements(operation: Operation) -> str:
    """Message, causes, types, and the traceback without the code that it quotes."""
    error = operation.error
    lines = str(error.get("traceback", "")).splitlines()
    stated = [line for line in lines if line[:1].strip()]
    return "\n".join((message(operation), *map(str, error.get("bases", ())), *stated))


def says_gone(history: History, text: str) -> bool:
    """Whether a text says in its own words that a worker or the pool is gone."""
    return bool(GONE.search(without(text, markers_of(history))))
