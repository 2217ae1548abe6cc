"""Runs many cells in one go, and says what of them is still there on the machine afterwards.

Usage: `python tools/many_cells.py [N] [--backend NAME]`. Prints one JSON object: how many cells ran,
in how many s, the counts before and after, and `left`, which is empty if all is well (exit code 0).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from harness.engine import linux
from harness.engine.loading import load
from harness.engine.plan import Options, jobs_of, wanted
from harness.engine.servers import Server, search_path
from harness.engine.supervisor import Supervisor
from harness.engine.timescale import measure
from harness.ports.clock import Deadline, now_ns, pause

ROOT = Path(__file__).parents[1]
ROWS = (
    ("clean_run", ("host=bare,transport=thread", "host=bare,transport=process")),
    ("failing_env", ("transport=process",)),
    ("killed_worker", ("exchange=value",)),
    ("env_fails_at_construction", ("transport=process",)),
)
MARK = "HARNESS_MANY_CELLS"  # in the environment of whatever we start, so that it is known
SETTLE_S = 10.0
JOBS = 2

Count = Mapping[str, list[str]]


def count(mark: str, server: int, temporary: Path) -> dict[str, list[str]]:
    """What is there now that could be left behind, by kind.

    Args:
        mark: the value of `MARK` in our processes' environment.
        server: pid of the backend server; 0: there is none.
        temporary: the directory that we and it have for temporary files.
    """
    return {
        "processes": _processes(f"{MARK}={mark}".encode()),
        "descriptors of the supervisor": _descriptors(os.getpid()),
        "descriptors of the server": _descriptors(server),
        "names in /dev/shm": _names(Path("/dev/shm")),
        "temporary files": _names(temporary),
        "System V objects": [
            f"{kind} {line.split()[1]}"
            for kind in ("sem", "shm", "msg")
            for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
        ],
    }


def beyond(before: Count, after: Count) -> list[str]:
    """What is there after and was not before, in words."""
    return [
        f"{kind}: {more} more of {name}"
        for kind in before
        for name, more in sorted((Counter(after[kind]) - Counter(before[kind])).items())
    ]


def _names(directory: Path) -> list[str]:
    walked = os.walk(directory)  # which lets names vanish meanwhile
    return sorted(str(Path(parent, name)) for parent, ds, fs in walked for name in (*ds, *fs))


def _descriptors(pid: int) -> list[str]:
    """What its descriptors point to, without the numbers of pipes and sockets."""
    found = []
    for link in Path(f"/proc/{pid}/fd").glob("*") if pid else ():
        try:
            found.append(os.readlink(link).partition(":[")[0])
        except OSError:
            continue  # the one that lists them
    return found


def _processes(mark: bytes) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            continue  # it has ended, or is somebody else's
    return found


def main(argv: list[str]) -> int:
    """Run them, count, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cells", type=int, nargs="?", default=1000)
    parser.add_argument("--backend", default="reference")
    options = parser.parse_args(argv)
    linux.private_shared_memory()  # so that nobody else's names are taken for ours
    with tempfile.TemporaryDirectory(prefix="harness-many-") as name:
        os.environ[MARK] = name
        os.environ["TMPDIR"] = tempfile.tempdir = str(Path(name, "t"))
        Path(name, "t").mkdir()
        told = _run(Path(name, "run"), options.backend, options.cells)
    print(json.dumps(told, indent=1))
    return 1 if told["left"] else 0


def _run(root: Path, backend: str, cells: int) -> dict[str, object]:
    root.mkdir()
    mark, temporary = os.environ[MARK], root.parent / "t"
    empty = count(mark, 0, temporary)
    server = Server([wanted(backend, sys.executable)], root / "log", search_path(root / "path"))
    try:
        _some(server, root / "warm", 1)
        before = count(mark, server.pid, temporary)
        started = now_ns()
        outcomes = _some(server, root / "many", -(-cells // sum(len(rows) for _, rows in ROWS)))
        seconds = (now_ns() - started) / 1e9
        after, left = _settled(before, server.pid, temporary)
    finally:
        server.stop()
    _, left_at_last = _settled(empty, 0, temporary)
    return {
        "cells": outcomes.total(),
        "seconds": round(seconds, 1),
        "outcomes": outcomes,
        "before": {kind: len(found) for kind, found in before.items()},
        "after": {kind: len(found) for kind, found in after.items()},
        "left": [*left, *(f"after the server: {each}" for each in left_at_last)],
    }


def _settled(before: Count, server: int, temporary: Path) -> tuple[Count, list[str]]:
    """Count until nothing is left of what was not there before, or that takes too long."""
    deadline = Deadline.after(SETTLE_S)
    while True:
        after = count(os.environ[MARK], server, temporary)
        left = beyond(before, after)
        if not left or deadline.expired:
            return after, left
        pause(0.05)


def _some(server: Server, directory: Path, repeat: int) -> Counter[str]:
    """Run every row so often; how many cells had which outcome."""
    loaded = [load(ROOT / "scenarios" / "pool" / f"{stem}.toml") for stem, _ in ROWS]
    options = Options(rows=tuple({row for _, rows in ROWS for row in rows}))
    jobs = jobs_of(loaded, list(server.columns), options, directory, measure())
    for job in jobs:
        job.repeat = repeat
    directory.mkdir()
    Supervisor(directory, jobs=JOBS).run(jobs)
    return Counter(run.verdict.outcome.value for job in jobs for run in job.runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
