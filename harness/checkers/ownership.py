"""`ownership`: a batch that was handed out changes only by its owner's hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.checkers._shared import POOL, AnswerChecker, named
from harness.model.history import Event, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement

NAME = "ownership"
HELD = "held"  # what the driver says of the batches that it keeps, after each operation


class _HoldingChecker(AnswerChecker):
    """Applies where a batch was handed out."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether there is a batch that could have changed."""
        handed_out = any("digest" in op.result for op in history.operations)
        return handed_out and super().applies(history)


def check(history: History) -> Judgement:
    """Compare each batch with what it was when it was handed out, after each later operation."""
    givers = {str(op.result["batch"]): op for op in history.operations if "digest" in op.result}
    looks = [e for e in history.of_kind(Kind.OBSERVE) if e.op == HELD and e.role == "driver"]
    findings = tuple(_changes(history, givers, looks))
    return Judgement(findings=findings, judged=sum(len(look.data["digests"]) for look in looks))


def _changes(
    history: History, givers: Mapping[str, Operation], looks: list[Event]
) -> Iterator[Finding]:
    """One finding a batch: what comes after its first change follows from it."""
    changed: set[str] = set()
    for look in looks:
        for batch, digest in look.data["digests"].items():
            giver = givers.get(batch)
            if giver is None or batch in changed or digest == giver.result["digest"]:
                continue
            changed.add(batch)
            yield _finding(giver, _last_before(history, look), look)


def _last_before(history: History, look: Event) -> Operation:
    """The operation that had just ended."""
    ended = [op for op in history.operations if op.completed and op.completed.seq < look.seq]
    return ended[-1]


def _finding(giver: Operation, suspect: Operation, look: Event) -> Finding:
    when = "at once" if suspect is giver else f"during {named(suspect)}"
    return Finding(
        checker=NAME,
        text=f"what {named(giver)} had handed out changed {when}, and nobody but its owner may "
        "write into it",
        contract=Contract.EQUIVALENCE,
        events=(*giver.events, *suspect.events, look.seq),
    )


CHECKER = _HoldingChecker(name=NAME, components=POOL, check=check)
