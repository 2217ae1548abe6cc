"""What the tests of the command share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import THREE_STEPS, write


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario file, in a tree as a project has it."""
    return write(tmp_path / "scenarios" / "pool" / "three_steps.toml", THREE_STEPS)
