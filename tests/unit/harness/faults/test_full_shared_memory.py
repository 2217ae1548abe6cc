"""Room in /dev/shm is taken only where a cell has one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.faults import resources
from harness.faults.resources import FullSharedMemory


@pytest.mark.parametrize(
    ("rights", "possible"), [("000001ffffffffff", True), ("00000000a80425fb", False)]
)
def test_it_needs_the_right_to_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rights: str, *, possible: bool
):
    status = tmp_path / "status"
    status.write_text(f"Name:\tpython\nCapEff:\t{rights}\n")
    monkeypatch.setattr(resources, "_STATUS", status)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert (FullSharedMemory().lacking is None) is possible


def test_it_needs_root(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert FullSharedMemory().lacking is not None
