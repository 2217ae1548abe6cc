"""What a cell left in its directory, read leniently: what is missing or broken is told, not fatal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from harness.model.history import EVENT_SCHEMA, Event, Kind
from harness.report.text import Excerpt, compact, excerpt, plural

JOURNAL_BYTES_MAX = 16 << 20
JSON_BYTES_MAX = 1 << 20
TS_NS_MAX = 1 << 63
REQUEST_BYTES_MAX = 8 << 10
STDERR_BYTES_MAX = 4 << 10
STACKS_BYTES_MAX = 16 << 10
NAMES = (
    "request.json",
    "journal.jsonl",
    "stderr.txt",
    "stacks.txt",
    "ending.json",
    "guardian.txt",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFiles:
    """The parts of a cell's directory that could be read.

    Attributes:
        names: the files that are there, relative to the run's directory.
        problems: what is missing or broken, one sentence each.
        events: the journal's events, without its broken lines; `seq` counts those too.
        request: what the cell was asked to do.
        ending: the fields of `Ending`, unchecked.
        leftovers: what was left behind, `kind name`.
        stderr: the end of it.
        stacks: the beginning of them.
        guardian: the end of what the guardian said when it failed itself.
    """

    names: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    request: Excerpt | None = None
    ending: Mapping[str, Any] = field(default_factory=dict)
    leftovers: tuple[str, ...] = ()
    stderr: Excerpt | None = None
    stacks: Excerpt | None = None
    guardian: Excerpt | None = None


def read_cell(run_dir: Path, directory: str | None) -> CellFiles:
    """Read `run_dir/directory`; never raises for what it finds there."""
    if directory is None:
        return CellFiles()
    try:
        inside = (run_dir / directory).resolve().is_relative_to(run_dir.resolve())
        there = (run_dir / directory).is_dir()
    except (OSError, ValueError, RuntimeError) as error:
        return CellFiles(problems=(f"{directory}: {error}",))
    if not inside:
        return CellFiles(problems=(f"{directory} lies outside the run's directory: not read",))
    if not there:
        return CellFiles(problems=(f"{directory} is missing",))
    return _Reader(run_dir / directory).read(directory)


class _Reader:
    """Reads one directory and collects the problems on the way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []

    def read(self, directory: str) -> CellFiles:
        ending, leftovers = self._ending()
        return CellFiles(
            names=tuple(f"{directory}/{name}" for name in NAMES if (self.path / name).is_file()),
            events=self._events(),
            request=self._excerpt("request.json", REQUEST_BYTES_MAX, "start"),
            ending=ending,
            leftovers=leftovers,
            stderr=self._excerpt("stderr.txt", STDERR_BYTES_MAX, "end"),
            stacks=self._excerpt("stacks.txt", STACKS_BYTES_MAX, "start", optional=True),
            guardian=self._excerpt("guardian.txt", STDERR_BYTES_MAX, "end", optional=True),
            problems=tuple(self.problems),
        )

    def _bytes(
        self, name: str, limit: int, keep: Literal["start", "end"], *, optional: bool = False
    ) -> tuple[bytes, int] | None:
        """At most `limit` bytes of a file and its size; None if it cannot be read."""
        path = self.path / name
        try:
            if not path.is_file():  # a pipe of that name would block
                if not optional:
                    self.problems.append(f"{name} is missing")
                return None
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - limit) if keep == "end" else 0)
                return file.read(limit), size
        except OSError as error:
            self.problems.append(f"{name} cannot be read: {error.strerror}")
            return None

    def _excerpt(
        self, name: str, limit: int, keep: Literal["start", "end"], *, optional: bool = False
    ) -> Excerpt | None:
        found = self._bytes(name, limit, keep, optional=optional)
        return None if found is None else excerpt(*found, keep)

    def _ending(self) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        found = self._bytes("ending.json", JSON_BYTES_MAX, "start")
        if found is None:
            return {}, ()
        plain = _json(found[0])
        if not isinstance(plain, dict):
            self.problems.append("ending.json is broken")
            return {}, ()
        inner = plain.get("ending")
        left = plain.get("leftovers")
        return (
            inner if isinstance(inner, dict) else plain,
            tuple(map(_leftover, left)) if isinstance(left, list) else (),
        )

    def _events(self) -> tuple[Event, ...]:
        found = self._bytes("journal.jsonl", JOURNAL_BYTES_MAX, "start")
        if found is None:
            return ()
        data, size = found
        lines = data.split(b"\n")
        if size > len(data):
            self.problems.append(f"journal.jsonl: read the first {len(data)} of {size} bytes")
            lines.pop()
        events = {seq: _event(seq, line) for seq, line in enumerate(lines) if line.strip()}
        broken = [seq for seq, event in events.items() if event is None]
        if broken:
            where = ", ".join(map(str, broken[:5])) + (", …" if len(broken) > 5 else "")
            self.problems.append(
                f"journal.jsonl: {plural(len(broken), 'broken line')} left out (event {where})"
            )
        return tuple(event for event in events.values() if event is not None)


def _event(seq: int, line: bytes) -> Event | None:
    raw = _json(line)
    if not isinstance(raw, dict) or raw.get("v") != EVENT_SCHEMA:
        return None
    request, data = raw.get("id"), raw.get("data")
    try:
        if abs(raw["ts"]) > TS_NS_MAX:
            return None
        return Event(
            seq=seq,
            ts_ns=int(raw["ts"]),
            pid=int(raw["pid"]),
            role=str(raw["role"]),
            kind=Kind(raw["kind"]),
            op=str(raw["op"]),
            id=request if isinstance(request, int) else None,
            data=data if isinstance(data, dict) else {},
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _json(data: bytes) -> Any:
    """The JSON value, or None if it is broken."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _leftover(item: object) -> str:
    if isinstance(item, dict) and {"kind", "name"} <= item.keys():
        return f"{compact(item['kind'])} {compact(item['name'])}"
    return compact(item)
