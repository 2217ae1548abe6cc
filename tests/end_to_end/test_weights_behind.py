"""Rows about weights that come behind their instructions pass where these are sound: the bugs planted there are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import harness, outcomes

pytestmark = pytest.mark.slow

SOUND = "harness.planted.weights_behind:behind"


def test_weights_that_are_late_or_lost_behind_their_instructions_are_borne(tmp_path: Path):
    files = [f"scenarios/weights/weights_{what}.toml" for what in ("late", "lost")]
    harness("run", *files, "--backend", SOUND, "--reports", tmp_path)
    assert outcomes(tmp_path) == {
        "weights/weights_late[]@behind-planted": "PASS",
        "weights/weights_lost[]@behind-planted": "PASS",
    }
