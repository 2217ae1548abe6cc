"""Runs the `harness` command as a user does: in a process of its own, from the root of the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BOUND_S = 300


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """Lines on stderr."""
        return self.err.strip().splitlines()


def harness(
    *words: str | Path,
    cwd: Path = ROOT,
    path: Path | None = None,
    before: Callable[[], None] | None = None,
) -> Done:
    """Run `harness WORDS...`; it can import from `path` too, and `before` is called in its process first."""
    search = [str(path)] if path is not None else []
    search += [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
    done = subprocess.run(
        [sys.executable, "-m", "harness", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
        preexec_fn=before,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*search, str(ROOT)])},
    )
    return Done(done.returncode, done.stdout, done.stderr)


def record(reports: Path) -> dict[str, Any]:
    """The record of the latest run."""
    found = json.loads((reports / "latest" / "run.json").read_text())
    assert isinstance(found, dict)
    return found


def outcomes(reports: Path) -> dict[str, str]:
    """Outcomes of the latest run, by the cell's id."""
    return {cell["id"]: cell["outcome"] for cell in record(reports)["cells"]}


SERIAL = "tests.backends.serial:backend"

THREE_STEPS = """
title = "Three steps return what the envs did"
component = "pool"

[setup]
transport = "thread"

[[steps]]
do = "reset"

[[steps]]
do = "step"
times = 3
within_s = 1.0

[[steps]]
do = "shutdown"
"""

NEVER_HELD = """
title = "A forward that is never held"
component = "weights"

[[steps]]
do = "forward"

[[steps]]
fault = "hold_forward"
at = { role = "worker:0", op = "forward", k = 99 }
during = { do = "mutate", version = 2 }

[[steps]]
do = "shutdown"
"""


def write(path: Path, text: str) -> Path:
    """Write a file, with the directories it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
