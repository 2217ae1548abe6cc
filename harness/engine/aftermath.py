"""What the guardian sees once the driver is gone: calls that were open, processes that outlive it, stderr."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from harness.engine import census
from harness.payloads.link import Journal
from harness.ports.clock import now_ns

SHOWN_MAX = 10  # lines of stderr that the journal repeats
LINE_MAX = 300
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):", re.MULTILINE)
_CHAINED = re.compile(
    r"^(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):",
    re.MULTILINE,
)
_IGNORED = re.compile(r"^Exception ignored .*$", re.MULTILINE)
_OF_IGNORED = re.compile(r"^Exception ignored .*\nTraceback", re.MULTILINE)
_TRACKED = re.compile(r"resource_tracker: (There appear to be \d.*)$", re.MULTILINE)
_WORKER = re.compile(
    r"^Process (.+):$", re.MULTILINE
)  # what multiprocessing puts above a traceback
_RAISED = re.compile(r"^(?:[\w.]+(?:Error|Exception|Exit|Interrupt)\b.*)$", re.MULTILINE)


def complete_open(journal: Journal, written: bytes, code: int, *, killed: bool) -> bool:
    """Complete what the driver had invoked and could not complete itself, since it is gone.

    Leaving ends with the driver; of other calls nobody knows, if their end was asked for.

    Args:
        journal: the guardian's.
        written: what is in the journal by now.
        code: exit code of the driver; negative: the signal that ended it.
        killed: a fault has ended it.

    Returns:
        whether it has left without closing, as the scenario wanted.
    """
    ended = {"exit_code": code} if code >= 0 else {"signal": -code}
    open_calls = _open(written)
    for request, op in open_calls.items():
        if op == "leave":
            journal.write("ok", op, request=request, **ended)
        elif killed:
            journal.write("info", op, request=request, **ended)
    return killed or "leave" in open_calls.values()


def finished(written: bytes) -> bool:
    """Whether the driver had come to the end of the scenario, by what is in the journal."""
    return any((kind, op) == ("note", "finished") for kind, op, _ in _events(written))


def _open(written: bytes) -> dict[int, str]:
    found: dict[int, str] = {}
    for kind, op, request in _events(written):
        if kind == "invoke":
            found[request] = op
        elif kind in ("ok", "fail", "info"):
            found.pop(request, None)
    return found


def _events(written: bytes) -> Iterator[tuple[str, str, int]]:
    """Kind, operation and request of each event; the request is 0 where there is none."""
    for line in written.splitlines():
        try:
            event = json.loads(line)
            yield str(event["kind"]), str(event["op"]), int(event["id"] or 0)
        except (ValueError, KeyError, TypeError):
            continue  # whoever wrote that is not ours; the judge says what it makes of it


class Survivors:
    """The processes that outlive the driver, and for how long."""

    def __init__(self) -> None:
        self._start_ns = now_ns()
        self._found: dict[int, dict[str, Any]] = {}

    def look(self) -> bool:
        """Whether there is one now."""
        alive = census.descendants(os.getpid())
        for pid in alive:
            if pid not in self._found:
                told = {"pid": pid, "command": census.command(pid), "outlived_s": None}
                self._found[pid] = told
        for pid, told in self._found.items():
            if told["outlived_s"] is None and pid not in alive:
                told["outlived_s"] = round((now_ns() - self._start_ns) / 1e9, 3)
        return bool(alive)

    def told(self) -> list[dict[str, Any]]:
        """All of them; `outlived_s` is None for those that are still there."""
        return list(self._found.values())


def summary(printed: bytes) -> dict[str, Any]:
    """What a judge wants to know of a cell's stderr.

    Tracebacks (a chain is one), the names of processes that multiprocessing puts above theirs, and, apart,
    ignored exceptions; and what Python's resource tracker had to clean up.
    """
    text = printed.decode(errors="replace")
    extra = len(_CHAINED.findall(text)) + len(_OF_IGNORED.findall(text))
    tracebacks = len(_TRACEBACK.findall(text)) - extra
    return {
        "bytes": len(printed),
        "tracebacks": max(0, tracebacks),
        "workers": _shown(_WORKER, text),
        "raised": _shown(_RAISED, text),
        "ignored": _shown(_IGNORED, text),
        "tracked": _shown(_TRACKED, text),
    }


def _shown(pattern: re.Pattern[str], text: str) -> list[str]:
    return [found[:LINE_MAX] for found in pattern.findall(text)[:SHOWN_MAX]]
