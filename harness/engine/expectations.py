"""Known outcomes: `scenarios/expected/<backend>.toml` lists cells with the reason and how long it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from pydantic import ConfigDict, TypeAdapter, ValidationError

from harness.engine.tables import tables
from harness.engine.usage import UsageError
from harness.model.run import CellResult
from harness.model.scenario import row_of
from harness.model.standing import Standing, standing
from harness.model.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One known outcome.

    Attributes:
        cell: the cell's id without the backend.
        outcome: what it comes to; several where a race in the backend decides, which the reason says.
        reason: why, with the public reference if there is one.
        expires: the backend's version from which it no longer holds.
        confirmed: the script below `reports/confirmed` that shows it without the harness; empty if none does.
    """

    cell: str
    outcome: Outcome | tuple[Outcome, ...]
    reason: str
    expires: str
    confirmed: str = ""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What it may come to, the worst first."""
        several = self.outcome if isinstance(self.outcome, tuple) else (self.outcome,)
        return tuple(sorted(several, key=lambda each: each.precedence))


Expectations = Mapping[str, Listed]


def load(directory: Path, backend: str, version: str) -> Expectations:
    """What is listed for a backend and still holds for its version; empty without a file.

    Raises:
        UsageError: the file says something that makes no sense.
    """
    path = directory / f"{backend}.toml"
    if not path.exists():
        return {}
    return {
        each.cell: each
        for each in _validated(tables(path), path)
        if _numbers(version) < _numbers(each.expires)
    }


def _validated(plain: Mapping[str, Any], path: Path) -> tuple[Listed, ...]:
    form = TypeAdapter(tuple[Listed, ...], config=ConfigDict(extra="forbid"))
    unknown = set(plain) - {"cells"}
    if unknown:
        raise UsageError(path, min(unknown), "unknown key, only cells is known")
    try:
        listed = form.validate_json(json.dumps(plain.get("cells", [])), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = "cells" + "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
        )
        raise UsageError(path, key, f"{first['msg']}, got {first['input']!r}") from None
    for number, each in enumerate(listed):
        if not each.outcomes:
            raise UsageError(path, f"cells[{number}].outcome", "at least one outcome, got []")
    return listed


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def nothing_judged(cells: Iterable[CellResult]) -> bool:
    """Whether no backend could run any of the cells, or there are none."""
    return all(cell.outcome is Outcome.UNSUPPORTED for cell in cells)


def exit_code(cells: Iterable[CellResult], *, strict: bool = False) -> int:
    """0 all as expected; 1 worse; 2 inconclusive, or nothing judged; 3 the harness failed; 3 > 1 > 2.

    Args:
        cells: of the run.
        strict: a listed cell that passes now counts as worse, so that lists stay true.
    """
    cells = list(cells)
    codes = {_code(cell, strict=strict) for cell in cells}
    if nothing_judged(cells):
        codes.add(2)
    return next((code for code in (3, 1, 2) if code in codes), 0)


def _code(cell: CellResult, *, strict: bool) -> int:
    match standing(cell):
        case Standing.HARNESS:
            return 3
        case Standing.WORSE:
            return 1
        case Standing.INCONCLUSIVE:
            return 2
        case Standing.BETTER:
            return 1 if strict and cell.outcome in (Outcome.PASS, Outcome.UNSUPPORTED) else 0
        case Standing.EXPECTED | Standing.LISTED:
            return 0
        case other:
            assert_never(other)


def write(cells: Iterable[CellResult], backend: str, expires: str) -> str:
    """A file that lists what a run found, to be given its reasons by hand."""
    parts = [f"# Known outcomes of {backend}. Every entry has a reason and expires."]
    for cell in cells:
        racy = len(cell.listed) > 1 and cell.outcome in cell.listed
        if cell.outcome in (Outcome.PASS, Outcome.UNSUPPORTED) and not racy:
            continue
        name = row_of(cell.id)
        reason = cell.expected_reason or cell.reason
        outcome = list(cell.listed) if racy else cell.outcome.value
        lines = {"cell": name, "outcome": outcome, "reason": reason, "expires": expires}
        body = "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
        parts.append(f"[[cells]]\n{body}")
    return "\n\n".join(parts) + "\n"
