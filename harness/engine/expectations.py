"""Known outcomes: `scenarios/expected/<backend>.toml` lists cells with the reason and how long it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from pydantic import ConfigDict, TypeAdapter, ValidationError

from harness.checkers import CHECKERS
from harness.engine.loading import Loaded
from harness.engine.tables import tables
from harness.engine.usage import UsageError, shown
from harness.model.run import CellResult
from harness.model.scenario import row_of
from harness.model.standing import Standing, standing
from harness.model.verdict import Contract, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One known outcome.

    Attributes:
        cell: the cell's id without the backend.
        outcome: what it comes to; several where a race in the backend decides, which the reason says.
        reason: why, with the public reference if there is one.
        expires: the backend's version from which it no longer holds.
        checkers: who finds it: what others find makes the cell worse; anybody, if it is left out.
        confirmed: the script below `reports/confirmed` that shows it without the harness; empty if none does.
    """

    cell: str
    outcome: Outcome | tuple[Outcome, ...]
    reason: str
    expires: str
    checkers: tuple[str, ...] = ()
    confirmed: str = ""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What it may come to, the worst first."""
        several = self.outcome if isinstance(self.outcome, tuple) else (self.outcome,)
        return tuple(sorted(several, key=lambda each: each.precedence))


VERSION = re.compile(r"\d+(\.\w+)*")
NAMES = tuple(checker.name for checker in CHECKERS)
Expectations = Mapping[str, Listed]


def load(
    directory: Path, backend: str, version: str, scenarios: Iterable[Loaded] = ()
) -> Expectations:
    """What is listed for a backend and still holds for its version; empty without a file.

    Args:
        directory: where lists lie, beside the directories of scenarios.
        backend: the list's name.
        version: of the backend.
        scenarios: whose rows are known: an entry for another row of theirs is a mistake.

    Raises:
        UsageError: the file says something that makes no sense.
    """
    path = directory / f"{backend}.toml"
    if not path.exists():
        return {}
    listed = _validated(tables(path), path)
    _check(listed, {each.name_id: each.row_ids() for each in scenarios}, path)
    return {each.cell: each for each in listed if _numbers(version) < _numbers(each.expires)}


def _check(listed: Sequence[Listed], rows: Mapping[str, Collection[str]], path: Path) -> None:
    """Refuse an entry that could never say anything of a cell."""
    files = {each.stem for each in path.parent.parent.glob("*/*.toml")}
    seen: set[str] = set()
    for number, each in enumerate(listed):
        key = f"cells[{number}]"
        name, bracket, _ = each.cell.partition("[")
        if not bracket or not each.cell.endswith("]") or "/" not in name:
            problem = f"component/scenario[row], without a backend, got {shown(each.cell)}"
            raise UsageError(path, f"{key}.cell", problem)
        if name not in rows and name.partition("/")[2] not in files:
            raise UsageError(
                path, f"{key}.cell", f"there is no such scenario, got {shown(each.cell)}"
            )
        if name in rows and each.cell not in rows[name]:
            raise UsageError(path, f"{key}.cell", f"{name} has no such row, got {shown(each.cell)}")
        if each.cell in seen:
            raise UsageError(path, f"{key}.cell", f"is listed twice, got {shown(each.cell)}")
        seen.add(each.cell)
        _check_entry(each, key, path)


def _check_entry(entry: Listed, key: str, path: Path) -> None:
    if not entry.outcomes:
        raise UsageError(path, f"{key}.outcome", "at least one outcome, got []")
    unknown = set(entry.checkers) - set(NAMES)
    if unknown:
        problem = f"there are {', '.join(NAMES)}, got {shown(min(unknown))}"
        raise UsageError(path, f"{key}.checkers", problem)
    check_version(path, f"{key}.expires", entry.expires)


def check_version(where: object, key: str, text: str) -> None:
    """Refuse what is no version, which would be before or after all of them.

    Raises:
        UsageError: it is none.
    """
    if VERSION.fullmatch(text) is None:
        raise UsageError(where, key, f"a version, like 0.15, got {shown(text)}")


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
        case Standing.EXPECTED | Standing.LISTED | Standing.NOT_HERE:
            return 0
        case other:
            assert_never(other)


def write(cells: Iterable[CellResult], backend: str, expires: str) -> str:
    """A file that lists what a run found, to be given its reasons by hand; what was listed keeps what it said.

    Args:
        cells: of the run.
        backend: the list's name.
        expires: the version from which new entries no longer hold.
    """
    parts = [f"# Known outcomes of {backend}. Every entry has a reason and expires."]
    for cell in cells:
        kept = standing(cell) in (Standing.LISTED, Standing.NOT_HERE)
        if kept or cell.outcome not in (Outcome.PASS, Outcome.UNSUPPORTED):
            entry = {**_found(cell, expires), **(_known(cell) if kept else {})}
            body = "\n".join(
                f"{key} = {json.dumps(value)}" for key, value in entry.items() if value
            )
            parts.append(f"[[cells]]\n{body}")
    return "\n\n".join(parts) + "\n"


def _found(cell: CellResult, expires: str) -> dict[str, Any]:
    """An entry that says what a run found in a cell; what a list had said of it beside that stays."""
    racy = len(cell.listed) > 1 and cell.outcome in cell.listed
    found = {f.checker for f in cell.findings if f.contract is not Contract.OPINION}
    return {
        "cell": row_of(cell.id),
        "outcome": list(cell.listed) if racy else cell.outcome.value,
        "checkers": sorted(found | set(cell.expected_checkers if racy else ())),
        "reason": cell.expected_reason or cell.reason,
        "confirmed": cell.expected_confirmed,
        "expires": cell.expected_expires or expires,
    }


def _known(cell: CellResult) -> dict[str, Any]:
    """What its entry says of what comes of a cell, and who finds it."""
    outcomes = [each.value for each in cell.listed]
    return {
        "outcome": outcomes if len(outcomes) > 1 else outcomes[0],
        "checkers": list(cell.expected_checkers),
    }
