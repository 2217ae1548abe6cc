"""A conclusion becomes one error that names every worker that did not do it."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest

from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.weights.errors import AnswerTimeout, WorkersFailed, error_of, joined
from reference_impl.weights.ledger import DONE, WAITING, Conclusion, Died, Failed
from reference_impl.weights.messages import Failure

FAILED = Failed(failure=Failure(cause="ValueError: no", traceback="Traceback: here"))
DIED = Died(exitcode=-9)
FATES = (DONE, WAITING, FAILED, DIED)


def error(*fates) -> Any:
    fates_by_worker = dict(enumerate(fates))
    return error_of(Conclusion(request_id=7, version=6, fates=fates_by_worker), "send")


def test_there_is_no_error_if_all_have_done_it():
    assert error(DONE, DONE) is None


def test_only_late_workers_are_a_timeout_that_names_them():
    late = error(DONE, WAITING, WAITING)
    assert isinstance(late, AnswerTimeout)
    assert isinstance(late, TimeoutError)
    assert late.workers == (1, 2)


def test_one_failed_worker_is_its_own_error_with_cause_and_traceback():
    failed = error(DONE, FAILED)
    assert type(failed) is WorkerError
    assert (failed.worker, failed.cause, failed.traceback) == (
        1,
        "ValueError: no",
        "Traceback: here",
    )


def test_one_dead_worker_is_its_death_with_the_exit_code():
    died = error(DIED, DONE)
    assert isinstance(died, WorkerDied)
    assert (died.worker, died.exitcode) == (0, -9)


@pytest.mark.parametrize("fates", list(itertools.product(FATES, repeat=3)))
def test_every_worker_that_has_not_done_it_is_named_and_no_other(fates):
    raised = error(*fates)
    text = "" if raised is None else str(raised)
    named = {worker for worker in range(3) if f"worker {worker}" in text}
    assert named == {worker for worker, fate in enumerate(fates) if fate is not DONE}


def test_a_late_worker_beside_a_failed_one_is_one_of_the_failures():
    both = error(WAITING, FAILED)
    assert isinstance(both, WorkersFailed)
    assert [failure.worker for failure in both.failures] == [0, 1]


@pytest.mark.parametrize("fates", [(DONE, WAITING), (FAILED,), (DIED,), (FAILED, DIED, WAITING)])
def test_errors_say_the_same_after_pickling(fates):
    raised = error(*fates)
    copy = pickle.loads(pickle.dumps(raised))
    assert (type(copy), str(copy)) == (type(raised), str(raised))


def test_one_error_is_told_as_it_is():
    error = WorkerError(1, "send", "ValueError: no")
    assert joined([error]) is error


def test_errors_of_several_requests_are_told_together():
    first = WorkersFailed((WorkerError(0, "send", "a"), WorkerError(1, "send", "b")))
    late = AnswerTimeout((2,), "send", 7)
    told = joined([first, late, WorkerDied(3, "send", -9)])
    assert isinstance(told, WorkersFailed)
    assert [each.worker for each in told.failures] == [0, 1, 2, 3]
    assert "no answer in time (request 7)" in str(told.failures[2])


def test_several_requests_that_are_only_late_are_late():
    told = joined([AnswerTimeout((0, 1), "send", 3), AnswerTimeout((1, 2), "send", 4)])
    assert isinstance(told, AnswerTimeout)
    assert (told.workers, told.request_id) == ((0, 1, 2), 4)
