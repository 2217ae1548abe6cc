"""Each way out ends an interpreter as a script of that kind would."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.ports.leave import How
from tests.patience import PATIENCE_S

SCRIPT = """
from harness.engine.leaving import Way
from harness.ports.leave import Leave
Way(verb=Leave(how={how!r}, code=3), failed={failed}).take()
"""


def ended(how: How, failed: str = "None") -> tuple[int, str]:
    """Exit code and last line of stderr."""
    script = SCRIPT.format(how=how, failed=failed)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


@pytest.mark.parametrize(("how", "code"), [("return", 0), ("exit", 3), ("uncaught", 0)])
def test_a_way_that_raises_nothing_is_quiet(how: How, code: int):
    assert ended(how) == (code, "")


def test_an_exception_of_the_trainer_is_printed():
    code, last = ended("exception")
    assert (code, last.rpartition(".")[2]) == (
        1,
        "TrainerError: the trainer fails, and nobody catches it",
    )


def test_what_a_call_raised_is_left_uncaught():
    assert ended("uncaught", "ValueError('env 1')") == (1, "ValueError: env 1")
