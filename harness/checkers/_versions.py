"""Which weights versions a trainer's sends allow its workers to act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.checkers._shared import ended_ns
from harness.model.history import History, Operation

FIRST_VERSION = 1  # the policy factory's own


def sends_of(history: History) -> list[Operation]:
    """All sends, in the order of their invocation."""
    return [op for op in history.operations if op.op == "send"]


def forwards_of(history: History) -> list[Operation]:
    """The forwards that returned."""
    return [op for op in history.operations if op.op == "forward" and op.status == "ok"]


def is_defective(send: Operation) -> bool:
    """Whether it carries weights that no worker can apply."""
    return send.arguments.get("defect") is not None


def version_of(operation: Operation) -> int:
    """What a send or a mutation filled the weights with."""
    return int(operation.arguments["version"])


def read_by(row: Mapping[str, Any]) -> list[int]:
    """The versions that one forward read, each once."""
    return list(dict.fromkeys((row["first"], row["last"], row["buffer"])))


def invoked_before_end(operation: Operation, other: Operation) -> bool:
    """Whether an operation had been invoked when the other one was completed."""
    done = ended_ns(other)
    return done is None or operation.invoked.ts_ns <= done
