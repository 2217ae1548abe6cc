"""The driver: runs the scenario against the backend, in a process that may be killed like any other."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import traceback
import types
from typing import NoReturn

from harness.engine.components import COMPONENTS
from harness.engine.leaving import Leaving
from harness.engine.loader import resolve
from harness.engine.request import CellRequest
from harness.payloads.link import HOLD_BOUND_S, Journal, Link, this_is_the_driver

BROKEN = 70  # EX_SOFTWARE: the harness's own part failed


def drive(request: CellRequest, journal: str, gate: str, *, own_shm: bool) -> NoReturn:
    """Run the scenario and leave; never returns.

    At the end of most scenarios nothing is left to be done, and the process ends at once. Where leaving
    is what is judged, the interpreter ends it.

    Args:
        request: what to do.
        journal: path of the journal.
        gate: address of the gate.
        own_shm: /dev/shm is this cell's alone, so that names in it can be judged.

    Raises:
        Leaving: for the bottom of `__main__`.
    """
    code = BROKEN
    try:
        _prepare()
        this_is_the_driver()
        hold_s = HOLD_BOUND_S * request.time_scale
        link = Link(journal=journal, gate=gate, gated=request.gated(), hold_s=hold_s)
        component = COMPONENTS[request.component]
        resolve(component.session)(request, component, link, own_shm=own_shm).run()
        code = 0
    except Leaving:
        raise
    except BaseException:  # noqa: BLE001 - the last frame of a process: the judge reads the journal
        Journal(journal, "driver").write("note", "broken", traceback=traceback.format_exc())
    with contextlib.suppress(OSError, ValueError):  # the backend may have closed it
        sys.stderr.flush()
    os._exit(code)


def _prepare() -> None:
    """What every cell needs before the backend is touched."""
    # Spawned workers import the parent's __main__ again: it must be nothing.
    sys.modules["__main__"] = types.ModuleType("__main__")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Whoever started the run may ignore SIGINT, as shells have background jobs do.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    # For stacks where nobody may look from outside; forked workers inherit it.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # a parallel operation in a forked process hangs
