"""Where what belongs to scenarios lies: files beside them that are none themselves."""

from __future__ import annotations

from pathlib import Path

SCENARIOS = Path("scenarios")
SMOKE = "smoke.toml"
EXPECTED = "expected"


def is_scenario(path: Path) -> bool:
    """Whether a TOML file below a directory of scenarios is one of them."""
    return path.name != SMOKE and path.parent.name != EXPECTED


def around(scenario: Path) -> Path:
    """The directory that holds a scenario's component, and beside it the selection and the lists."""
    return scenario.parent.parent
