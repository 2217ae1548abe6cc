"""The smoke selection: `scenarios/smoke.toml` lists rows that together catch every planted bug."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from harness.engine.loading import Loaded
from harness.engine.places import SMOKE, around
from harness.engine.tables import tables
from harness.engine.usage import UsageError
from harness.model.selftest import RowSeen

_HEAD = (
    "# The clean runs, and rows that with them catch every planted bug, beside the bugs that each stands for.\n"
    "# Computed: `harness selftest` leaves a new one in its run's directory.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One row of the selection.

    Attributes:
        row: its id, without a backend.
        seconds: what it takes on the reference.
        catches: the planted bugs that it stands for.
    """

    row: str
    seconds: float
    catches: tuple[str, ...]


def render(rows: Sequence[RowSeen]) -> str:
    """The file."""
    return "\n".join([_HEAD, *map(_entry, rows)])


def _entry(row: RowSeen) -> str:
    caught = ", ".join(json.dumps(name) for name in row.catches)
    seconds = row.seconds or 0.0
    return f"[[rows]]\nrow = {json.dumps(row.row)}\nseconds = {seconds}\ncatches = [{caught}]\n"


def read(path: Path) -> tuple[Chosen, ...]:
    """Read the file.

    Raises:
        UsageError: it is not there, or says something that makes no sense.
    """
    try:
        plain = tables(path)
    except OSError as error:
        raise UsageError(path, "", f"no smoke selection: {error.strerror}") from error
    form = TypeAdapter(tuple[Chosen, ...], config=ConfigDict(extra="forbid"))
    try:
        return form.validate_json(json.dumps(plain.get("rows", [])), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("rows", *first["loc"])))
        raise UsageError(path, where, f"{first['msg']}, got {first['input']!r}") from None


def chosen(path: Path, scenarios: Sequence[Loaded]) -> frozenset[str]:
    """The ids of the rows that the file lists.

    Args:
        path: of the selection.
        scenarios: of which rows are wanted.

    Raises:
        UsageError: the file is not there, makes no sense, or lists no row of these scenarios.
    """
    rows = frozenset(each.row for each in read(path))
    if rows.isdisjoint(row for each in scenarios for row in each.row_ids()):
        files = ", ".join(str(each.path) for each in scenarios)
        raise UsageError(
            files, "", f"none of {'their' if len(scenarios) > 1 else 'its'} rows is in {path}"
        )
    return rows


def beside(scenarios: Iterable[Path]) -> Path:
    """Where the selection lies: beside the directories of the components.

    Raises:
        UsageError: no selection lies beside any of them.
    """
    places = dict.fromkeys(around(path) / SMOKE for path in scenarios)
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise UsageError("--smoke", "", f"there is no {' or '.join(map(str, places))}")
    return found
