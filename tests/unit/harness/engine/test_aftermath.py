"""What the guardian makes of a cell's journal and stderr once the driver is gone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.engine.aftermath import complete_open, summary
from harness.payloads.link import Journal

HEAD = "Traceback (most recent call last):\n  File ...\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    path.touch()
    return path


def completed(path: Path, op: str, code: int, *, killed: bool) -> tuple[bool, list[dict[str, Any]]]:
    """What is written after a reset that returned, and a call that is open."""
    journal = Journal(str(path), "driver")
    for kind, name, request in (("invoke", "reset", 1), ("ok", "reset", 1), ("invoke", op, 2)):
        journal.write(kind, name, request=request)
    before = path.read_bytes()
    left = complete_open(journal, b"not ours\n" + before, code, killed=killed)
    os.close(journal.fd)
    return left, [json.loads(line) for line in path.read_bytes()[len(before) :].splitlines()]


def test_leaving_ends_with_the_process_and_says_how(path: Path):
    left, (event,) = completed(path, "leave", 3, killed=False)
    assert left
    assert (event["kind"], event["id"], event["data"]) == ("ok", 2, {"exit_code": 3})


def test_of_a_call_whose_caller_was_killed_nobody_knows(path: Path):
    left, (event,) = completed(path, "step", -9, killed=True)
    assert left
    assert (event["kind"], event["id"], event["data"]) == ("info", 2, {"signal": 9})


def test_a_call_whose_caller_died_unasked_stays_open(path: Path):
    assert completed(path, "step", -11, killed=False) == (False, [])


@pytest.mark.parametrize(
    ("printed", "tracebacks"),
    [
        ("a warning\n", 0),
        (HEAD + "KeyboardInterrupt\n", 1),
        (HEAD + "KeyboardInterrupt\nProcess 2:\n" + HEAD + "KeyboardInterrupt\n", 2),
        (
            HEAD
            + "OSError: no\n\nDuring handling of the above exception, another exception occurred:\n\n"
            + HEAD
            + "ValueError: 1\n",
            1,
        ),
        (f"Exception ignored in: <f>\n{HEAD}EOFError: \n", 0),
    ],
)
def test_tracebacks_are_counted_by_what_was_raised(printed: str, tracebacks: int):
    assert summary(printed.encode())["tracebacks"] == tracebacks


def test_ignored_exceptions_are_repeated():
    said = summary(f"Exception ignored in: <f>\n{HEAD}EOFError: \n".encode())
    assert (said["ignored"], said["raised"]) == (["Exception ignored in: <f>"], ["EOFError: "])


def test_what_the_resource_tracker_cleans_up_is_repeated():
    told = "There appear to be 1 leaked shared_memory objects to clean up at shutdown"
    printed = f"resource_tracker.py:254: UserWarning: resource_tracker: {told}\n  warnings.warn(\n"
    assert summary(printed.encode())["tracked"] == [told]


def test_a_traceback_of_a_worker_is_told_by_what_multiprocessing_puts_above_it():
    printed = f"{HEAD}KeyboardInterrupt\nProcess ForkProcess-2:\n{HEAD}KeyboardInterrupt\n"
    assert summary(printed.encode())["workers"] == ["ForkProcess-2"]
