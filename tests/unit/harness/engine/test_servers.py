"""A backend's server: one that does not come to its end of importing is told while it is waited for."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engine import servers
from harness.engine.servers import Server, Wanted, search_path
from harness.engine.usage import UsageError

HANGS = Wanted(name="hangs", adapter="tests.backends.importing:hangs")


def test_an_import_without_end_is_told_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(servers, "START_S", 0.4)
    monkeypatch.setattr(servers, "PATIENCE_S", 0.1)
    told: list[str] = []
    expected = r"hangs: the server did not start: it is still importing after 0\.4 s"
    with pytest.raises(UsageError, match=expected):
        Server([HANGS], tmp_path / "log", search_path(tmp_path / "path"), told.append)
    assert told[:2] == [
        "still importing hangs after 0.1 s",
        "still importing hangs after 0.2 s",
    ]
