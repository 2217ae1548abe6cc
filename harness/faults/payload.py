"""Faults that the harness's own payloads carry into the workers: they fail, or take their time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from harness.faults.common import Common, Gated, among_threads
from harness.model.gate import Exit as How
from harness.model.gate import ReplyDefect
from harness.model.scenario import Placement
from harness.ports.faults import Stage
from harness.ports.weights import Defect


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise(Gated):
    """The env, or the policy, raises an exception at its k-th operation, once."""

    fault: Literal["raise"] = "raise"

    def arm(self, stage: Stage) -> None:
        """Have the gate give the order."""
        self.arm_gate(stage, "raise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit(Gated):
    """The env, or the policy, leaves the process of its worker at its k-th operation.

    Attributes:
        how: by `sys.exit`, which in a thread is an exception like others, or at once by `os._exit`.
        code: the exit code.
    """

    how: How = "sys_exit"
    code: int = 3
    fault: Literal["exit"] = "exit"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """A thread has no process of its own to leave."""
        del capabilities
        if self.how == "sys_exit":
            return None
        return among_threads(setup, "os._exit in a worker that is a thread ends the whole process")

    def arm(self, stage: Stage) -> None:
        """Have the gate give the order."""
        self.arm_gate(stage, "exit", how=self.how, code=self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall(Gated):
    """The env, the policy or the writer does not come back from its k-th operation until the fault is healed.

    Attributes:
        for_s: it heals by itself after so long: the env is merely slow. The guardian measures what
            processor time everybody uses meanwhile.
    """

    for_s: float = 0.0
    fault: Literal["stall"] = "stall"

    def arm(self, stage: Stage) -> None:
        """Have the gate hold whoever comes there."""
        self.arm_gate(stage, "hold", for_s=self.for_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadReply(Gated):
    """The env's reply to its k-th reset or step is not what it has promised, once.

    Attributes:
        defect: an observation with an entry too many, of a wider type, or with a key missing; or an entry
            beside it that cannot be pickled.
    """

    defect: ReplyDefect
    fault: Literal["bad_reply"] = "bad_reply"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """A thread pickles nothing, only a dictionary has keys, and who promises no form cannot break it."""
        if self.defect == "unpicklable":
            return among_threads(setup, "nothing is pickled between threads")
        if not capabilities.promises_forms:
            return "the backend promises no form of observations: it hands on what its envs reply"
        if self.defect == "missing_key" and setup.get("payload", "plain") != "nested":
            return "no key can be missing where an observation is one array"
        return None

    def arm(self, stage: Stage) -> None:
        """Have the gate give the order."""
        self.arm_gate(stage, "spoil", defect=self.defect)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadWeights(Common):
    """A send carries weights that the worker cannot apply; later ones are sound.

    Attributes:
        at: a send of the driver; it strikes before it.
        defect: a tensor of another shape, one of another name, or none of a known name.
    """

    at: Placement
    defect: Defect
    fault: Literal["bad_weights"] = "bad_weights"
    ops: ClassVar[frozenset[str]] = frozenset({"send", "send_async"})

    def arm(self, stage: Stage) -> None:
        """Wait for its send."""
        stage.record(self.id, "armed")

    def fire(self, stage: Stage) -> None:
        """Spoil the send that comes next."""
        stage.record(self.id, "reached")
        stage.spoil_next_send(self.id, self.defect)
