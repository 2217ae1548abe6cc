"""The record is written whole and read strictly."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.model.plain import to_plain
from harness.model.run import RunRecord
from harness.report.record import ReportError, read_json, write_json
from tests.unit.harness.report import sample


def test_a_record_reads_back_equal(tmp_path: Path):
    write_json(sample.record(), tmp_path / "run.json")
    assert read_json(tmp_path / "run.json") == sample.record()


def test_a_self_test_reads_back_equal(tmp_path: Path):
    write_json(sample.selftest(), tmp_path / "run.json")
    assert read_json(tmp_path / "run.json") == sample.selftest()


def test_an_empty_record_reads_back_equal(tmp_path: Path):
    write_json(RunRecord(), tmp_path / "run.json")
    assert read_json(tmp_path / "run.json") == RunRecord()


def test_text_that_is_no_utf8_reads_back_equal(tmp_path: Path):
    record = replace(sample.record(), versions={"path": "/home\udcff"})
    write_json(record, tmp_path / "run.json")
    assert read_json(tmp_path / "run.json") == record


def test_nothing_but_the_record_is_left(tmp_path: Path):
    write_json(sample.record(), tmp_path / "run.json")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_reader_of_the_old_record_is_not_disturbed(tmp_path: Path):
    write_json(RunRecord(), tmp_path / "run.json")
    with (tmp_path / "run.json").open() as old:
        write_json(sample.record(), tmp_path / "run.json")
        assert json.load(old)["cells"] == []


def test_a_write_that_fails_leaves_nothing(tmp_path: Path):
    (tmp_path / "run.json").mkdir()
    with pytest.raises(IsADirectoryError):
        write_json(sample.record(), tmp_path / "run.json")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_failed_write_leaves_the_old_record(tmp_path: Path):
    write_json(sample.record(), tmp_path / "run.json")
    with pytest.raises(TypeError):
        write_json(replace(sample.record(), machine={"bad": object()}), tmp_path / "run.json")
    assert read_json(tmp_path / "run.json") == sample.record()


def plain() -> dict[str, Any]:
    return dict(json.loads(json.dumps(to_plain(sample.record()))))


def without(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


Change = Callable[[dict[str, Any]], dict[str, Any]]
CHANGES: dict[str, tuple[Change, str]] = {
    "newer schema": (lambda p: {**p, "schema": 2}, "schema: 2 "),
    "schema that is no number": (lambda p: {**p, "schema": True}, "schema: true "),
    "no schema": (lambda p: without(p, "schema"), "schema: null "),
    "unknown key": (lambda p: {**p, "colour": "red"}, "colour: red: "),
    "wrong type": (lambda p: {**p, "seed": "seven"}, "seed: seven: "),
    "unknown outcome": (
        lambda p: {**p, "cells": [{**p["cells"][0], "outcome": "PAST"}]},
        "cells.0.outcome: PAST: ",
    ),
    "unknown key in a cell": (
        lambda p: {**p, "cells": [{**p["cells"][0], "size": 3}]},
        "cells.0.size: 3: ",
    ),
    "missing key": (
        lambda p: {**p, "cells": [without(p["cells"][0], "replay")]},
        "cells.0.replay: ",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_record_is_refused_naming_file_key_and_value(name: str, tmp_path: Path):
    change, named = CHANGES[name]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(change(plain())))
    with pytest.raises(ReportError) as caught:
        read_json(path)
    assert str(caught.value).startswith(f"{path}: {named}")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": \xff}'])
def test_a_broken_file_is_refused_in_one_line(text: str, tmp_path: Path):
    path = tmp_path / "run.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ReportError, match=r"run\.json: is not JSON: [^\n]*$"):
        read_json(path)


def test_a_file_that_is_no_object_is_refused(tmp_path: Path):
    (tmp_path / "run.json").write_text("[1]")
    with pytest.raises(ReportError, match=r"run\.json: is not an object but \[1\]"):
        read_json(tmp_path / "run.json")


def test_a_missing_file_is_refused(tmp_path: Path):
    with pytest.raises(ReportError, match=r"run\.json: cannot be read: No such file"):
        read_json(tmp_path / "run.json")
