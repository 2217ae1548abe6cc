"""What every process of a cell holds at one moment: memory, mappings, descriptors, threads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.engine import census, temporary

PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


def take(guardian: int, *, own_shm: bool) -> dict[str, Any]:
    """Count for every process below the guardian, and what is in the cell's own directories.

    Returns:
        `processes`, each with `pid`, and `fds`, `threads`, `mappings`, `rss_kb` as far as they can be
        read; the names in `shm` and of temporary `files`.
    """
    return {
        "processes": [
            {"pid": pid, **_of_process(Path(f"/proc/{pid}"))}
            for pid in census.descendants(guardian)
        ],
        "shm": census.shared_memory() if own_shm else [],
        "files": temporary.names(Path(tempfile.gettempdir())),
    }


def _of_process(proc: Path) -> Mapping[str, int]:
    try:
        return {
            "fds": len(os.listdir(proc / "fd")),
            "threads": len(os.listdir(proc / "task")),
            "mappings": (proc / "maps").read_bytes().count(b"\n"),
            # Resident, not private: what a parent loses is shared with the children it has then.
            "rss_kb": int((proc / "statm").read_text().split()[1]) * PAGE_KB,
        }
    except OSError:
        return {}  # it has just ended
