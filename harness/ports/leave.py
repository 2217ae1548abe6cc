"""The verb by which a scenario leaves its process for real; any component may have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

How = Literal["return", "exception", "exit", "uncaught"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Leave the process by the interpreter's own way out, without closing anything; the last step.

    The backend's object is still held by `__main__`, as a script's would be.

    Attributes:
        how: the end of `__main__` is reached, an exception of the trainer's is left uncaught, or
            `sys.exit(code)` is called; `uncaught`: what the last failed call raised is left uncaught
            (if none failed, the end of `__main__` is reached).
        code: for `exit`.
        within_s: from here until the process is gone.
    """

    how: How = "return"
    code: int = 0
    do: Literal["leave"] = "leave"
    within_s: float = 5.0
