"""Whatever a backend returns is judged: it is never taken for a mistake of the harness."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.backends import garbage
from tests.end_to_end.command import harness, record, write

pytestmark = pytest.mark.slow

ROW = """
title = "Whatever comes to a backend's mind"
component = "{component}"

[setup]
{setup}

[matrix]
horizon = {horizons}

"""
POOL = (
    ROW
    + """
[[steps]]
do = "reset"

[[steps]]
do = "step"

{fault}

[[steps]]
do = "shutdown"
"""
)
STORAGE = (
    ROW
    + """
[[steps]]
do = "extend"

[[steps]]
do = "{verb}"
{by}

[[steps]]
do = "shutdown"
"""
)
KILL = """
[[steps]]
fault = "kill"
"""


def _outcomes(root: Path, text: str, backend: str, **words: object) -> dict[int, str]:
    """Outcome and reason, by the kind of garbage."""
    scenario = write(root / "any_garbage.toml", text.format(**{"fault": "", **words}))
    backend = f"tests.backends.garbage:{backend}"
    harness("run", scenario, "--backend", backend, "--reports", root)
    cells = record(root)["cells"]
    return {_kind(c["id"]): f"{c['outcome']}: {c['reason']}" for c in cells}


def _kind(cell: str) -> int:
    """Of `storage/any_garbage[horizon=3]@garbage-1`."""
    return int(cell.partition("horizon=")[2].partition("]")[0])


def _not_failed(found: dict[int, str], count: int) -> dict[int, str]:
    assert len(found) == count
    return {kind: said for kind, said in found.items() if not said.startswith("FAIL")}


@pytest.mark.parametrize(
    ("backend", "count"), [("pool", len(garbage.STEPS)), ("pids", len(garbage.PIDS))]
)
def test_what_a_pool_returns_is_judged_whatever_it_is(tmp_path: Path, backend: str, count: int):
    kinds = list(range(1, count + 1))
    found = _outcomes(
        tmp_path,
        POOL,
        backend,
        component="pool",
        setup='transport = "thread"\nnum_envs = 2',
        horizons=kinds,
    )
    assert not _not_failed(found, count)


def test_a_process_that_is_none_of_the_cell_is_not_struck_whoever_names_it(tmp_path: Path):
    setup = 'transport = "process"\nnum_envs = 2'
    words = {"component": "pool", "setup": setup, "fault": KILL}
    with subprocess.Popen(["sleep", "60"]) as foreign:
        try:
            found = _outcomes(tmp_path, POOL, "foreign", horizons=[foreign.pid], **words)
            assert foreign.poll() is None
        finally:
            foreign.kill()
    assert "kill (f1) did not fire" in found[foreign.pid]


def test_what_is_read_of_a_storage_is_judged_whatever_it_is(tmp_path: Path):
    count = len(garbage.READS)
    words = {"setup": 'writers = "driver"', "verb": "read_all", "by": ""}
    kinds = list(range(1, count + 1))
    found = _outcomes(tmp_path, STORAGE, "storage", component="storage", horizons=kinds, **words)
    assert not _not_failed(found, count)


def test_what_no_pipe_carries_is_judged_where_a_writer_samples(tmp_path: Path):
    words = {"setup": 'writers = "process"', "verb": "sample", "by": 'by = "worker:0"'}
    found = _outcomes(tmp_path, STORAGE, "unsent", component="storage", horizons=[1, 2], **words)
    assert not _not_failed(found, 2)
