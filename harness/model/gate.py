"""Rules for sequence points and transfers: what whoever comes to one is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Order = Literal["go", "raise", "exit", "signal", "hold", "spoil"]
ReplyDefect = Literal["unpicklable", "shape", "dtype", "missing_key"]
Exit = Literal["sys_exit", "os_exit"]
Target = Literal["main", "group"]
Transfer = Literal["put", "get"]
Side = Literal["owner", "worker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRule:
    """At the k-th hit of `op` by `role`, counted from when the rule was armed, a probe is told `order`.

    Attributes:
        fault: id of the fault this rule carries out.
        role: `worker` (any) or `worker:INDEX`.
        op: the worker's operation.
        order: raise an exception, leave its process, send itself a signal, wait until released, or spoil its
            reply.
        k: which hit, from 1.
        edge: before or after the operation.
        signal: number of the signal, for `signal`; who stops is continued when the fault is released.
        how: by `sys.exit` or `os._exit`, for `exit`.
        code: exit code, for `exit`.
        defect: what is wrong with the reply, for `spoil`.
        for_s: for `hold`: after how long it is released without being asked to; 0: never.
        target: for `hold`: whom `signal` is sent to while the probe is held, the driver alone or its
            process group; None: nobody.
        after_s: how long after that.
    """

    fault: str
    role: str
    op: str
    order: Order
    k: int = 1
    edge: Literal["before", "after"] = "before"
    signal: int = 0
    how: Exit = "sys_exit"
    code: int = 0
    defect: ReplyDefect = "shape"
    for_s: float = 0.0
    target: Target | None = None
    after_s: float = 0.0

    def meets(self, role: str, op: str, edge: str) -> bool:
        """Whether a probe at this point is one that the rule speaks of."""
        return self.op == op and self.edge == edge and self.role in (role, role.partition(":")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRule:
    """At the k-th transfer by one of these processes through one of these ends, `fault` strikes.

    Attributes:
        fault: id of the fault that is carried out.
        op: the fault's name: what the interposer has to do.
        side: whose transfers; the owner's are counted in all, whoever is at the other side.
        transfer: which way.
        k: which of them, from 1, counted from when the rule was armed; of each worker by itself.
        ends: by what tells an end (see `harness.payloads.ends`), the env at its other side; None where
            several workers share the channel.
        pids: by process, its worker; None where the ends have to tell.
        seconds: what the fault has to know beside that.
    """

    fault: str
    op: str
    side: Side
    transfer: Transfer
    k: int
    ends: Mapping[str, int | None]
    pids: Mapping[str, int | None]
    seconds: float = 0.0

    def meets(self, asked: Mapping[str, Any]) -> bool:
        """Whether a transfer is one that the rule speaks of."""
        here = asked["end"] in self.ends and str(asked["pid"]) in self.pids
        return here and asked["transfer"] == self.transfer

    def worker(self, asked: Mapping[str, Any]) -> int | None:
        """Whose transfer it is: the worker's that makes it, or that is at the other side."""
        index = self.pids[str(asked["pid"])]
        return self.ends[asked["end"]] if index is None else index
