"""All checkers together: each is there once, pure, and applies where it can judge."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness import checkers
from tests.unit.harness.checkers.histories import HonestPool, Recorder

PUBLIC = {
    path.stem
    for path in Path(checkers.__file__).parent.glob("*.py")
    if not path.stem.startswith("_")
}
ALL_VERBS = frozenset({"reset", "reset_where", "step", "send", "recv", "forward", "shutdown"})
IMPURE = ("torch", "tensordict", "numpy", "threading", "multiprocessing", "subprocess")


def test_each_file_is_one_checker_of_the_same_name():
    assert sorted(checker.name for checker in checkers.CHECKERS) == sorted(PUBLIC)


def test_importing_them_brings_nothing_impure():
    program = (
        "import sys; before = set(sys.modules); import harness.checkers; "
        f"print(sorted((set(sys.modules) - before) & set({IMPURE})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_plain_pool_history_is_judged_by_those_that_can():
    pool = HonestPool()
    pool.reset()
    pool.step()
    pool.recorder.call("shutdown")
    applicable = [checker.name for checker in checkers.CHECKERS if checker.applies(pool.history())]
    assert applicable == [
        "routing",
        "episode_model",
        "bounded_calls",
        "bounded_shutdown",
        "no_leaks",
        "expected_outcome",
    ]


@pytest.mark.parametrize("component", ["pool", "weights"])
def test_a_backend_that_could_not_be_built_is_not_asked_for_answers(component):
    recorder = Recorder(component)
    recorder.failing("construct")
    history = replace(recorder.history(), verbs=ALL_VERBS)
    applicable = [checker.name for checker in checkers.CHECKERS if checker.applies(history)]
    assert applicable == [
        "bounded_calls",
        "bounded_shutdown",
        "no_leaks",
        "expected_outcome",
    ]


def test_a_send_of_weights_is_not_taken_for_a_send_of_steps():
    recorder = Recorder("weights")
    recorder.call("send", version=2, how="fresh", defect=None)
    applicable = {c.name for c in checkers.CHECKERS if c.applies(recorder.history())}
    assert applicable == {"bounded_calls", "no_leaks", "expected_outcome", "acks_aligned"}
