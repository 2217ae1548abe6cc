"""All writers of a storage append at once, and it is counted how often they really did."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from harness.engine.storage_workers import Worker, WriterGone
from harness.payloads.storage_worker import Done, Go, Prepare, Span, Write
from harness.ports.clock import now_ns


def run(
    workers: Sequence[Worker], told: Sequence[Write], sample: Callable[[], object] | None
) -> tuple[list[str], int]:
    """Start all writers together, each with its batches made, and wait until all have ended.

    Args:
        workers: the writers.
        told: what each of them appends.
        sample: called again and again meanwhile; None: nobody reads.

    Returns:
        how each has ended, and how many extends met another writer's, or a sample.

    Raises:
        Exception: what the backend raised in a writer, once all have ended; or in the sample.
    """
    for worker, each in zip(workers, told, strict=True):
        worker.tell(Prepare(write=each))
    ready = [worker for worker in workers if _answer(worker) is not None]
    for worker in ready:
        worker.tell(Go())
    samples: list[Span] = []
    while sample is not None and not all(worker.has_answered() for worker in ready):
        began = now_ns()
        sample()
        samples.append((began, now_ns()))
    answers = {worker.pid: _answer(worker) for worker in ready}
    failed = next((each for each in answers.values() if isinstance(each, Exception)), None)
    if failed is not None:
        raise failed
    done = [answers.get(worker.pid) for worker in workers]
    spans = [each.spans for each in done if isinstance(each, Done)]
    return ["gone" if each is None else "stored" for each in done], met(spans, samples)


def _answer(worker: Worker) -> Done | Exception | None:
    """What a writer answers, or has raised; None: it has gone."""
    try:
        return worker.answer()
    except WriterGone:
        return None
    except Exception as error:  # noqa: BLE001 - raised once the others have ended, too
        return error


def met(extends: Sequence[Sequence[Span]], samples: Sequence[Span]) -> int:
    """How many extends were under way while another writer's, or a sample, was.

    Args:
        extends: by writer, when each began and ended, in ns, one after the other.
        samples: likewise.
    """
    found = 0
    for writer, own in enumerate(extends):
        others = [each for i, each in enumerate(extends) if i != writer] + [samples]
        found += sum(any(_meets(span, other) for other in others) for span in own)
    return found


def _meets(span: Span, others: Sequence[Span]) -> bool:
    """Whether one of these, which come one after the other, overlaps it."""
    last = bisect_left(others, (span[1], 0)) - 1  # of those that began before it ended
    return last >= 0 and others[last][1] > span[0]
