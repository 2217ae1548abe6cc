"""`run.json`: the record of a run, written whole and read strictly."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic

from harness.model.plain import from_plain, to_plain
from harness.model.run import RUN_SCHEMA, RunRecord
from harness.report.text import compact


class ReportError(Exception):
    """A record cannot be read; the message is one line that names file, key and value."""


@dataclass(frozen=True, kw_only=True)
class _StrictRecord(RunRecord):
    """The record, refusing keys that it does not know."""

    __pydantic_config__ = pydantic.ConfigDict(extra="forbid")


def write_json(record: RunRecord, path: Path) -> None:
    """Write the record as JSON; a reader meets the old file or the whole new one."""
    write_text(path, json.dumps(to_plain(record), indent=1) + "\n")


def read_json(path: Path) -> RunRecord:
    """Read a record back, equal to the one that was written.

    Raises:
        ReportError: the file is missing, is no JSON, has another schema, or a value that does
            not belong there.
    """
    plain = _load(path)
    found = plain.get("schema")
    if type(found) is not int or found != RUN_SCHEMA:
        raise ReportError(
            f"{path}: schema: {compact(found)} is not the version that is read here, {RUN_SCHEMA}"
        )
    # What is no UTF-8 (a path may hold such bytes) is kept, but pydantic does not take it.
    encoded = json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")
    try:
        pydantic.TypeAdapter(_StrictRecord).validate_json(encoded, strict=True)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"])) or "record"
        raise ReportError(f"{path}: {key}: {compact(first['input'])}: {first['msg']}") from error
    return from_plain(RunRecord, plain)


def write_text(path: Path, text: str) -> None:
    """Write a file under another name first, so that no reader meets half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _load(path: Path) -> dict[str, Any]:
    try:
        plain = json.loads(path.read_bytes())
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: is not JSON: {compact(str(error))}") from error
    if not isinstance(plain, dict):
        raise ReportError(f"{path}: is not an object but {compact(plain)}")
    return plain
