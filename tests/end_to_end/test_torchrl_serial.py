"""torchrl's `SerialEnv` is the twin that pools are held against: held against itself it is green."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.end_to_end.command import ROOT, harness, outcomes

pytestmark = pytest.mark.slow


def test_a_serial_env_passes_every_comparison_that_it_can_run(tmp_path: Path):
    scenarios = (ROOT / "scenarios" / "pool").glob("*.toml")
    comparing = [path for path in scenarios if 'do = "compare"' in path.read_text()]
    harness("run", *comparing, "--backend", "torchrl_serial", "--reports", tmp_path)
    found = Counter(outcomes(tmp_path).values())
    assert set(found) == {"PASS", "UNSUPPORTED"}
    assert found["PASS"] >= 10
