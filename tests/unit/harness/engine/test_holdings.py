"""Every process of a cell is counted with what it holds."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from harness.engine import holdings


@pytest.fixture(autouse=True)
def _own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_process_below_is_counted_with_what_it_holds():
    found = holdings.take(os.getppid(), own_shm=False)
    (held,) = [each for each in found["processes"] if each["pid"] == os.getpid()]
    assert set(held) == {"pid", "fds", "threads", "mappings", "rss_kb"}
    assert min(held.values()) > 0


def test_names_of_others_in_shared_memory_are_left_out():
    assert holdings.take(os.getpid(), own_shm=False)["shm"] == []
