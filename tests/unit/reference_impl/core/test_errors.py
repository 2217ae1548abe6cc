"""Errors say who, what and why, and travel between processes."""

from __future__ import annotations

import pickle

import pytest

from reference_impl.core.errors import Closed, ReceiveTimeout, WorkerDied, WorkerError

ALL = (
    WorkerError(1, "step", "LookupError: x", "Traceback (most recent call last): ..."),
    WorkerDied(2, "reset", -9),
    WorkerDied(2, "reset", reason="its channel is closed"),
    ReceiveTimeout("late"),
    Closed("closed"),
)


@pytest.mark.parametrize("error", ALL, ids=repr)
def test_an_error_survives_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_a_worker_error_names_worker_operation_and_cause_and_shows_the_traceback():
    assert str(ALL[0]) == (
        "worker 1 failed in step: LookupError: x\n\nTraceback (most recent call last): ..."
    )


def test_a_death_names_its_exit_code():
    assert str(ALL[1]) == "worker 2 failed in reset: the worker died with exit code -9"


def test_an_unreachable_worker_is_not_said_to_have_died():
    assert str(ALL[2]) == "worker 2 failed in reset: its channel is closed"


@pytest.mark.parametrize(
    ("error", "base"), [(ALL[0], RuntimeError), (ALL[3], TimeoutError), (ALL[4], RuntimeError)]
)
def test_an_error_is_what_torchrl_raises_in_its_place(error, base):
    assert isinstance(error, base)
