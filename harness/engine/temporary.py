"""The directory for temporary files that every cell has of its own, so that its files are known, and go with it.

Nothing could be left to the cell itself: whoever is killed, or leaves at once, removes nothing.
"""

from __future__ import annotations

import multiprocessing.process
import os
import shutil
import tempfile
from pathlib import Path

OWN = "harness-"  # begins the names of what the harness itself puts there, or into /dev/shm: no backend's


def directory_of(guardian: int) -> Path:
    """Where the cell of this guardian has it, below its server's own.

    It is short: a socket whose path is long cannot be bound.
    """
    return Path(tempfile.gettempdir()) / str(guardian)


def enter(directory: Path) -> None:
    """Make it, and have this process and whoever it starts keep temporary files there."""
    shutil.rmtree(directory, ignore_errors=True)  # of a guardian of old that had this pid
    directory.mkdir(mode=0o700)
    os.environ["TMPDIR"] = str(directory)
    tempfile.tempdir = None  # it was looked up before
    current = multiprocessing.process.current_process()
    getattr(current, "_config").pop("tempdir", None)  # noqa: B009 - multiprocessing has its own memory of it


def names(directory: Path) -> list[str]:
    """Files below it, relative to it, without ours and what multiprocessing keeps until its interpreter ends."""
    found = (
        Path(parent, name).relative_to(directory)
        for parent, directories, files in os.walk(directory)  # which lets them vanish meanwhile
        for name in (*directories, *files)
    )
    return sorted(str(each) for each in found if not each.parts[0].startswith((OWN, "pymp-")))


def remove(guardian: int) -> None:
    """Delete the directory of this guardian's cell with all that is in it."""
    shutil.rmtree(directory_of(guardian), ignore_errors=True)
