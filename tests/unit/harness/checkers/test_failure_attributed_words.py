"""Which words of an error name a worker, or say what did not fit."""

from __future__ import annotations

import pytest

from harness.model.verdict import Contract
from tests.unit.harness.checkers.test_failure_attributed import MARKER, judged, raised, struck


def blamed(message: str) -> list[str]:
    """What is said of whom an error names, of which worker 1 was the one that failed."""
    found = (finding.text for finding in raised(f"{message}: step: {MARKER}"))
    return [text.rpartition(": it ")[2] for text in found]


@pytest.mark.parametrize(
    "message",
    [
        "workers: 1 of 2 failed",
        "workers 1/2 failed",
        "no answer of the env (1.0 s)",
        "no answer of the env (1 s)",
        "the worker: 1 MB too much",
        "<Process 0x7f>",
        "lost a worker\n1 time",
    ],
)
def test_a_number_that_counts_or_measures_names_nobody(message: str):
    assert blamed(message) == ["does not name worker 1"]


@pytest.mark.parametrize("message", ["workers: 0 of 2 live", "the env (0.5 s)", "<Process 0x7f>"])
def test_a_number_that_counts_or_measures_blames_nobody(message: str):
    assert blamed(f"{message}, worker 1") == []


@pytest.mark.parametrize(
    "message",
    ["env 1 step failed", "worker 1.", "workers (1, 0) of the pool", "worker-1_queue", "env#1"],
)
def test_an_index_names_a_worker(message: str):
    assert blamed(message) == []


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("worker 1 failed in update", "KeyboardInterrupt"),
        ("worker 1 died unexpectedly in update", "RuntimeError"),
        ("worker 1 failed in update: cannot resize", "RuntimeError"),
    ],
)
def test_a_word_that_only_begins_like_one_does_not_say_what_was_wrong(message: str, error: str):
    found = [f.text for f in raised(message, "bad_weights", error=error)]
    assert any("does not say which key, shape or type was wrong" in text for text in found)


@pytest.mark.parametrize("error", ["KeyError", "UnexpectedKeys"])
def test_a_type_may_say_what_was_wrong(error: str):
    found = [f.text for f in raised("worker 1 failed in update", "bad_weights", error=error)]
    assert not any("does not say which key" in text for text in found)


@pytest.mark.parametrize(
    ("fault", "message", "blames"),
    [
        ("signal", "worker 0 failed in step of env 0: the worker died", 0),
        ("raise", f"worker 0 failed in step of env 1: {MARKER}", 0),
        ("raise", f"worker 0 failed in step of env 0: {MARKER}", 1),
        ("signal", "worker 1 failed in step of env 2: the worker died", 1),
        ("truncate_transfer", f"worker 0 failed in step of env 0: {MARKER}", 0),
        ("truncate_transfer", f"worker 1 failed in step of env 2: {MARKER}", 1),
    ],
)
def test_a_neighbour_may_be_named_for_a_worker_that_died_or_an_item_that_broke_and_for_nothing_else(
    fault: str, message: str, blames: int
):
    recorder = struck()
    recorder.fail(recorder.invoke("step", actions=[1, 2, 3, 4]), message)
    setup = {"num_envs": 4, "envs_per_worker": 2, "transport": "process"}
    found = judged(recorder, fault, setup=setup).findings
    assert [f.contract for f in found] == [Contract.EQUIVALENCE] * blames
