"""Adapters whose import does not come to its end; which one is chosen by the attribute that is asked for."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tests.backends.hostile import HOURS, TOLD


def _asked_for() -> str:
    """The attribute of this module that the server was started for."""
    named = (word.partition(":") for word in sys.argv)
    return next((attr for module, _, attr in named if module == __name__), "")


match _asked_for():
    case "tells_and_hangs":
        Path(os.environ[TOLD]).write_text("importing")
        time.sleep(HOURS)
    case "hangs":
        time.sleep(HOURS)
    case "exits":
        os._exit(7)
    case "segfaults":
        os.kill(os.getpid(), signal.SIGSEGV)
    case _:
        pass
