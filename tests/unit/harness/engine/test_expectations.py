"""Lists of known outcomes: what they say, and what is written for a run."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engine.expectations import Expectations, load, write
from harness.engine.usage import UsageError
from harness.model.verdict import Outcome
from tests.unit.harness.report import sample

ENTRY = """
[[cells]]
cell = "pool/stalled_env[transport=process]"
outcome = {outcome}
reason = "a race between two finalizers"
expires = "2"
"""
CELL = "pool/stalled_env[transport=process]"


def loaded(directory: Path, outcome: str, version: str = "1") -> Expectations:
    (directory / "some.toml").write_text(ENTRY.format(outcome=outcome), encoding="utf-8")
    return load(directory, "some", version)


def test_an_entry_lists_one_outcome(tmp_path: Path):
    assert loaded(tmp_path, '"HANG"')[CELL].outcomes == (Outcome.HANG,)


def test_an_entry_may_list_several_of_which_the_worst_comes_first(tmp_path: Path):
    assert loaded(tmp_path, '["PASS", "HANG"]')[CELL].outcomes == (Outcome.HANG, Outcome.PASS)


def test_an_entry_that_has_expired_lists_nothing(tmp_path: Path):
    assert loaded(tmp_path, '"HANG"', version="2.0") == {}


def test_an_entry_without_any_outcome_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"cells\[0\].outcome: at least one outcome"):
        loaded(tmp_path, "[]")


@pytest.mark.parametrize("outcome", ['"SLOW"', '["HANG", "SLOW"]'])
def test_an_outcome_that_there_is_not_is_refused(tmp_path: Path, outcome: str):
    with pytest.raises(UsageError, match=r"cells\[0\].outcome"):
        loaded(tmp_path, outcome)


@pytest.mark.parametrize("text", [b"cells = [", b"\xff"], ids=["TOML", "UTF-8"])
def test_what_is_no_toml_is_refused(tmp_path: Path, text: bytes):
    (tmp_path / "some.toml").write_bytes(text)
    with pytest.raises(UsageError, match=r"some\.toml: not valid TOML"):
        load(tmp_path, "some", "1")


@pytest.mark.parametrize("outcome", [Outcome.HANG, Outcome.PASS])
def test_a_list_that_is_written_anew_keeps_what_a_race_decides(outcome: Outcome):
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, outcome)
    cell = replace(cell, expected=Outcome.HANG, expected_also=(Outcome.PASS,))
    (entry,) = tomllib.loads(write([cell], "torchrl", "0.15"))["cells"]
    assert entry["outcome"] == ["HANG", "PASS"]
