"""The driver's side of a gate: one line to who serves it, in the messages that `gates.py` answers."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

from harness.model.gate import GateRule, Target, TransferRule
from harness.model.plain import to_plain
from harness.payloads.link import connect


class GateClient:
    """The driver's line to the gate, waiting `bound_s` for an answer. One thread at a time."""

    def __init__(self, address: str, bound_s: float) -> None:
        connection = connect(address, bound_s)
        if connection is None:
            raise RuntimeError(f"nobody holds the gate {address}")
        self._connection = connection
        self._file = connection.makefile("rb")

    def own_fds(self) -> set[int]:
        """Its descriptor: a census must not count it."""
        return {self._connection.fileno()}

    def arm(self, rule: GateRule) -> None:
        """Arm a rule; it counts hits from now on."""
        self._call({"arm": to_plain(rule)})

    def arm_transfer(self, rule: TransferRule) -> None:
        """Arm a rule of transfers; it counts them from now on."""
        self._call({"arm_transfer": to_plain(rule)})

    def release(self, fault: str) -> None:
        """Let go whoever this fault holds, now and later."""
        self._call({"release": fault})

    def idle(self, seconds: float) -> None:
        """Wait while the guardian measures the processor time of all processes."""
        self._call({"idle": seconds})

    def is_held(self, fault: str) -> bool:
        """Whether a probe is held by this fault now."""
        return bool(self._call({"is_held": fault})["held"])

    def wait_held(self, fault: str) -> bool:
        """Wait until a probe is held by this fault; False if the guardian left or it took too long."""
        try:
            return bool(self._call({"wait_held": fault}).get("held"))
        except OSError:
            return False

    def signal_owner(self, fault: str, number: int, target: Target) -> None:
        """Have the guardian signal this process, or its group; it does not answer, since who would hear?"""
        strike = {"fault": fault, "number": number, "target": target}
        self._connection.sendall(json.dumps({"signal_owner": strike}).encode() + b"\n")

    def hang_up(self) -> None:
        """End a wait in another thread, now or when it comes."""
        with contextlib.suppress(OSError):  # closed already
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the descriptors back."""
        self._file.close()
        self._connection.close()

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        self._connection.sendall(json.dumps(message).encode() + b"\n")
        line = self._file.readline()
        if not line:
            raise ConnectionError("the guardian has left")
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer
