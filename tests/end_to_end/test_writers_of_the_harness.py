"""Writers of a storage, and the directory that it lies in, are the harness's own: no storage is blamed for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import harness, record, write

WRITES = """
title = "Rows are written and read"
component = "storage"

[matrix]
medium = ["memory", "disk"]
writers = ["process", "driver"]

[[steps]]
do = "extend"

[[steps]]
do = "read_all"
"""
KILLED = """
title = "A writer that was killed is told to write, to race and to sample"
component = "storage"

[[steps]]
do = "extend"
rows = 5

[[steps]]
fault = "kill"
worker = 0

[[steps]]
do = "extend"

[[steps]]
do = "race"
batches = 2

[[steps]]
do = "sample"
by = "worker:0"

[[steps]]
do = "read_all"

[[steps]]
do = "shutdown"
"""
FROZEN = """
title = "A writer that was stopped is left to the end"
component = "storage"

[[steps]]
do = "extend"
writer = 1

[[steps]]
fault = "stop"
at = { role = "worker:0", op = "extend" }

[[steps]]
do = "extend"
until = "stopped"

[[steps]]
do = "read_all"
"""
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("writers")]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Outcome and reason of each row."""
    root = tmp_path_factory.mktemp("writers")
    texts = {"left_open": WRITES, "writes_after_a_kill": KILLED, "stopped_to_the_end": FROZEN}
    files: list[str | Path] = [write(root / f"{name}.toml", text) for name, text in texts.items()]
    done = harness("run", *files, "--reports", root)
    assert done.code != 64, done.err
    return {
        cell["id"].partition("@")[0].partition("/")[2]: f"{cell['outcome']}: {cell['reason']}"
        for cell in record(root)["cells"]
    }


@pytest.mark.parametrize("medium", ["memory", "disk"])
@pytest.mark.parametrize("writers", ["process", "driver"])
def test_a_storage_that_is_not_closed_leaves_nothing_of_ours(cells, medium, writers):
    assert cells[f"left_open[medium={medium},writers={writers}]"].startswith("PASS")


def test_what_a_writer_that_is_gone_is_told_fails_nobody(cells):
    assert cells["writes_after_a_kill[]"].startswith("PASS")


def test_a_writer_that_does_not_end_is_ended_in_time(cells):
    # Nobody may have come to see that it was stopped before it was ended.
    assert cells["stopped_to_the_end[]"].startswith(("PASS", "VACUOUS: fault stop"))
