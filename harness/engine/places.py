"""Where what belongs to scenarios lies: files beside them that are none themselves."""

from __future__ import annotations

from pathlib import Path

SMOKE = "smoke.toml"
EXPECTED = "expected"


def is_scenario(path: Path) -> bool:
    """Whether a TOML file below a directory of scenarios is one of them."""
    return path.name != SMOKE and path.parent.name != EXPECTED
