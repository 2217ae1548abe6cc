"""Every cell has a directory for temporary files of its own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from harness.engine import temporary


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    directory = temporary.directory_of(7)
    temporary.enter(directory)
    yield directory
    temporary.remove(7)


def test_temporary_files_lie_in_it(own: Path):
    with tempfile.NamedTemporaryFile() as file:
        assert Path(file.name).parent == own
    assert os.environ["TMPDIR"] == str(own)


def test_what_was_there_of_another_is_gone(own: Path):
    (own / "old").touch()
    temporary.enter(own)
    assert temporary.names(own) == []


def test_what_lies_in_it_is_named_relative_to_it(own: Path):
    (own / "a").mkdir()
    (own / "a" / "b").touch()
    assert temporary.names(own) == ["a", "a/b"]


def test_what_multiprocessing_keeps_until_its_interpreter_ends_is_not_named(own: Path):
    (own / "pymp-x").mkdir()
    (own / "pymp-x" / "listener").touch()
    assert temporary.names(own) == []


def test_what_the_harness_itself_has_put_there_is_not_named(own: Path):
    (own / "harness-storage-x").mkdir()
    (own / "harness-storage-x" / "rows").touch()
    assert temporary.names(own) == []


def test_it_goes_with_all_that_is_in_it(tmp_path: Path, own: Path):
    (own / "a").touch()
    os.environ["TMPDIR"], tempfile.tempdir = str(tmp_path), None
    temporary.remove(7)
    assert not own.exists()
