"""What the suites of both ports need: a journal for the probes, and a process as it was before."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing import resource_sharer
from typing import Any

import pytest

from harness.payloads import link as links
from tests.patience import PATIENCE_S

STOP_S = PATIENCE_S


def close_and_drop(made: Any) -> None:
    """Close what a fixture made, and empty it: pytest holds it until everything was counted."""
    made.close()
    vars(made).clear()


@pytest.fixture
def link(tmp_path, monkeypatch):
    """A probe's line to a journal; nobody holds its gate."""
    monkeypatch.setattr(links, "_HERE", links._Process(pid=0))
    journal = tmp_path / "journal.jsonl"
    journal.touch()
    line = links.Link(journal=str(journal), gate="@nobody", gated=())
    yield line
    for fd in line.own_fds():
        os.close(fd)


@pytest.fixture(scope="session", autouse=True)
def heap():
    """A process keeps the first arena of its heap for shared values, whoever asks for it."""
    multiprocessing.RawArray("b", 1)


@pytest.fixture(autouse=True)
def same_process():
    """A backend may set the default start method, and starts a thread with the first shared tensor."""
    before = multiprocessing.get_start_method(allow_none=True)
    yield
    multiprocessing.set_start_method(before, force=True)
    resource_sharer.stop(timeout=STOP_S)
