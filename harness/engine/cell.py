"""One running cell as the supervisor sees it: its guardian, its journal as it grows, its deadlines."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from harness.engine import census, watchdog
from harness.engine.diagnosis import Diagnosis, Witness, diagnose
from harness.engine.request import CellRequest, grace_s
from harness.model.history import Hang
from harness.ports.clock import now_ns

SPARE_S = 60.0  # what a cell may take beyond all the deadlines of its steps
FORK_S = 60.0  # how long a server may take to fork a guardian
END_S = 30.0  # how long a guardian may take to clean up
HEAR_S = 10.0  # how long a server may take to say that a guardian has ended


class RunningCell:
    """Watches one cell from its start to the end of its guardian.

    Attributes:
        error: why there is nothing to judge.
        lost: its server does not say what it should have said long ago.
    """

    def __init__(self, request: CellRequest, directory: Path) -> None:
        self.request = request
        self.directory = directory
        self.started_ns = now_ns()
        self.guardian: int | None = None
        self.hang: Hang | None = None
        self.diagnosis: Diagnosis | None = None
        self.error: str | None = None
        self.lost = False
        self._told_to_end_ns: int | None = None
        self._ended_ns: int | None = None
        self._open: dict[int, int] = {}
        self._witness = Witness()
        self._offset = 0
        self._bound_ns = self.started_ns + round(_bound_s(request) * 1e9)

    def watch(self) -> bool:
        """Read what is new in the journal, and end the cell if something in it is overdue.

        Returns:
            whether that took so long that others should be heard before they are judged late.
        """
        now = now_ns()
        if self.guardian is None:
            self.lost = now > self.started_ns + FORK_S * 1e9
            return False
        self._read()
        if not census.is_alive(self.guardian):
            self._ended_ns = self._ended_ns or now
            self.lost = now > self._ended_ns + HEAR_S * 1e9
        elif self._told_to_end_ns is not None:
            if now > self._told_to_end_ns + END_S * 1e9:
                self.error = "the guardian did not end"
                _signal(self.guardian, signal.SIGKILL)
            self.lost = now > self._told_to_end_ns + (END_S + HEAR_S) * 1e9
        elif now > self._due_ns():
            self._end_hung()
            return True
        return False

    @property
    def ended(self) -> bool:
        """Whether its guardian was seen to have ended, and so has left its account."""
        return self._ended_ns is not None

    def _due_ns(self) -> int:
        """When the first of what is open has to be over, grace included."""
        return min((*self._open.values(), self._bound_ns))

    def end(self) -> None:
        """Have the guardian end everything now."""
        if self._told_to_end_ns is None and self.guardian is not None:
            self._told_to_end_ns = now_ns()
            _signal(self.guardian, signal.SIGTERM)

    def kill(self) -> None:
        """Give the guardian no time to end anything: its driver dies with it, and there is nothing to judge."""
        if self.guardian is not None:
            self.error = self.error or "interrupted"
            _signal(self.guardian, signal.SIGKILL)

    def finish(self) -> None:
        """Add what only the supervisor knows to what the guardian wrote."""
        path = self.directory / "ending.json"
        try:
            ending = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            ending = {"error": "the guardian left no account of the cell"}
        if self.hang is not None and ending.get("ended_by_us"):
            ending["hang"] = self.hang
            if self.diagnosis is not None:
                ending["first"] = self.diagnosis.first
                ending["waits_for"] = self.diagnosis.waits_for
        if self.error is not None:
            ending["error"] = self.error
        path.write_text(json.dumps(ending), encoding="utf-8")

    def _read(self) -> None:
        """Which calls are open, and until when."""
        assert self.guardian is not None
        try:
            with (self.directory / "journal.jsonl").open("rb") as journal:
                journal.seek(self._offset)
                fresh = journal.read()
        except FileNotFoundError:
            return  # the guardian has not opened it yet, or the cell unlinked it: the bound remains
        end = fresh.rfind(b"\n") + 1
        self._offset += end
        for line in fresh[:end].splitlines():
            try:
                self._note(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue  # whoever wrote that is not ours; the judge says what it makes of it

    def _note(self, event: dict[str, Any]) -> None:
        if event["kind"] == "invoke":
            allowed_s = event["data"]["deadline_s"] + event["data"]["grace_s"]
            self._open[event["id"]] = event["ts"] + round(allowed_s * 1e9)
        elif event["kind"] in ("ok", "fail", "info"):
            self._open.pop(event["id"], None)
        self._witness.note(event)

    def _end_hung(self) -> None:
        assert self.guardian is not None
        seen = watchdog.look(census.descendants(self.guardian))
        self._read()
        if now_ns() <= self._due_ns():
            return  # it came back while we were looking
        self.hang = watchdog.verdict(seen)
        dumps = watchdog.dumps(seen)
        self.diagnosis = diagnose(seen, dumps, self._witness)
        text = watchdog.stacks(seen, dumps)
        (self.directory / "stacks.txt").write_text(text, encoding="utf-8")
        self.end()


def _bound_s(request: CellRequest) -> float:
    """The sum of all deadlines with their grace, and something to spare."""
    scale = request.time_scale
    total = float(request.setup["start_within_s"]) * scale
    for verb in request.verbs():
        deadline_s = verb.within_s * scale
        total += getattr(verb, "times", 1) * (deadline_s + grace_s(deadline_s))
    return total + SPARE_S * scale


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it has ended; the server says so next
