"""A fault that cannot strike a backend makes its cell VACUOUS: nothing was shown, whatever else is fine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import ROOT, harness, record

pytestmark = pytest.mark.slow


def test_a_backend_that_drops_what_cannot_be_pickled_is_not_said_to_bear_it(tmp_path: Path):
    row = ROOT / "scenarios" / "pool" / "reply_that_cannot_be_pickled.toml"
    harness("run", row, "--backend", "tests.backends.forking:backend", "--reports", tmp_path)
    (cell,) = record(tmp_path)["cells"]
    assert (cell["outcome"], "had no effect" in cell["reason"]) == ("VACUOUS", True), cell["reason"]
