"""What a sender is told: one error for a request, naming every worker that did not do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from reference_impl.core.errors import ReceiveTimeout, WorkerDied, WorkerError
from reference_impl.weights.ledger import Died, Done, Failed, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_impl.weights.ledger import Conclusion


class WorkersFailed(WorkerError):  # noqa: N818 - named after what the caller meets
    """Several workers did not do what they were asked; `worker` and `cause` are those of the first.

    Attributes:
        failures: one error for each of them, in the order of the targets.
    """

    def __init__(self, failures: tuple[WorkerError, ...]) -> None:
        first = failures[0]
        super().__init__(first.worker, first.operation, first.cause, first.traceback)
        self.failures = failures

    def __str__(self) -> str:
        return "\n".join(str(failure) for failure in self.failures)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failures,)


class AnswerTimeout(ReceiveTimeout):
    """Workers had not answered when the deadline came, and none had failed; they may still do it: indefinite.

    Attributes:
        workers: indices of the workers that had not answered; none if earlier calls took all the time
            and nothing was asked.
        operation: what they were asked.
        request_id: id of the request, 0 if nothing was asked; late answers to it are dropped.
    """

    def __init__(self, workers: tuple[int, ...], operation: str, request_id: int) -> None:
        super().__init__(workers, operation, request_id)
        self.workers = workers
        self.operation = operation
        self.request_id = request_id

    def __str__(self) -> str:
        if not self.workers:
            return f"{self.operation}: earlier calls held the workers until the deadline came"
        names = ", ".join(f"worker {worker}" for worker in self.workers)
        return f"no answer in time from {names} in {self.operation} (request {self.request_id})"


def error_of(conclusion: Conclusion, operation: str) -> WorkerError | AnswerTimeout | None:
    """Return what must be raised for a concluded request, or None if every target has done it."""
    late = tuple(w for w, fate in conclusion.fates.items() if isinstance(fate, Waiting))
    named = [_failure(w, conclusion, operation) for w in conclusion.fates]
    failures = tuple(failure for failure in named if failure is not None)
    if not failures:
        return None
    if len(late) == len(failures):
        return AnswerTimeout(late, operation, conclusion.request_id)
    return failures[0] if len(failures) == 1 else WorkersFailed(failures)


def joined(errors: Sequence[WorkerError | AnswerTimeout]) -> WorkerError | AnswerTimeout:
    """Return one error that says all of what several requests of one operation ended with."""
    timeouts = [error for error in errors if isinstance(error, AnswerTimeout)]
    last = errors[-1]
    if len(errors) == 1:
        return last
    if len(timeouts) == len(errors):
        late = tuple(dict.fromkeys(w for error in timeouts for w in error.workers))
        return AnswerTimeout(late, timeouts[-1].operation, timeouts[-1].request_id)
    failures: list[WorkerError] = []
    for error in errors:
        match error:
            case WorkersFailed():
                failures += error.failures
            case WorkerError():
                failures.append(error)
            case AnswerTimeout():
                failures += [_late(w, error.operation, error.request_id) for w in error.workers]
            case _:
                assert_never(error)
    return failures[0] if len(failures) == 1 else WorkersFailed(tuple(failures))


def _late(worker: int, operation: str, request_id: int) -> WorkerError:
    return WorkerError(worker, operation, f"no answer in time (request {request_id})")


def _failure(worker: int, conclusion: Conclusion, operation: str) -> WorkerError | None:
    fate = conclusion.fates[worker]
    match fate:
        case Done():
            return None
        case Waiting():
            return _late(worker, operation, conclusion.request_id)
        case Failed():
            return WorkerError(worker, operation, fate.failure.cause, fate.failure.traceback)
        case Died():
            return WorkerDied(worker, operation, fate.exitcode)
        case _:
            assert_never(fate)
