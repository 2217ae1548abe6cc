"""How the driver leaves by the interpreter's own way out: it unwinds to the bottom of `__main__`.

The driver is a fork of a fork of the server, so below its frames lie the guardian's and the server's.
They let `Leaving` pass; the last of them takes the way that it carries. What follows is what follows
in every script: `sys.excepthook`, the end of non-daemonic threads, `atexit`, finalizers, `Py_Finalize`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import assert_never

from harness.ports.leave import Leave


class TrainerError(RuntimeError):
    """What a trainer raises that is told to leave by an exception of its own."""


@dataclass(slots=True, kw_only=True)
class Way:
    """A way out.

    Attributes:
        verb: which.
        failed: what the last failed call raised, if any.
    """

    verb: Leave
    failed: BaseException | None

    def take(self) -> None:
        """Leave, from the bottom of `__main__`: returns if that is how.

        Raises:
            TrainerError: for `exception`.
            SystemExit: for `exit`.
            BaseException: for `uncaught`, what the last failed call raised.
        """
        match self.verb.how:
            case "return":
                return
            case "exception":
                raise TrainerError("the trainer fails, and nobody catches it")
            case "exit":
                sys.exit(self.verb.code)
            case "uncaught":
                failed, self.failed = self.failed, None
                try:
                    if failed is not None:
                        raise failed
                finally:
                    del failed  # else its traceback would hold itself, which no script's does
            case _:
                assert_never(self.verb.how)


class Leaving(BaseException):
    """On its way to the bottom of `__main__`; nobody in between may catch it.

    Whoever catches it there keeps its `way` alone: its traceback holds every frame above, and a
    script that leaves has none.
    """

    def __init__(self, way: Way) -> None:
        super().__init__(way.verb.how)
        self.way = way
