"""Reads the TOML files that are written by hand: scenarios, lists of known outcomes, the smoke selection."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from harness.engine.usage import UsageError


def tables(path: Path) -> dict[str, Any]:
    """What a file says.

    Raises:
        OSError: it cannot be read.
        UsageError: it is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(path, "", f"not valid TOML: {error}") from error
