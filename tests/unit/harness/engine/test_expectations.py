"""Lists of known outcomes: what they say, and what is written for a run."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engine.expectations import Expectations, load, write
from harness.engine.loading import load as scenario
from harness.engine.usage import UsageError
from harness.model.run import CellResult
from harness.model.scenario import row_of
from harness.model.verdict import Contract, Finding, Outcome
from tests.unit.harness.report import sample

ENTRY = """
[[cells]]
cell = "pool/stalled_env[transport=process]"
outcome = {outcome}
reason = "a race between two finalizers"
expires = "2"
"""
ROUTED = Finding(checker="routing", text="not its own", contract=Contract.EQUIVALENCE)
CELL = "pool/stalled_env[transport=process]"


SCENARIO = """
title = "A stalled env"
component = "pool"

[matrix]
transport = ["thread", "process"]

[[steps]]
do = "shutdown"
"""


def listing(root: Path, text: str, version: str = "1") -> Expectations:
    """What a list says, beside one scenario."""
    for name, content in (("pool/stalled_env", SCENARIO), ("expected/some", text)):
        path = root / f"{name}.toml"
        path.parent.mkdir()
        path.write_text(content, encoding="utf-8")
    return load(root / "expected", "some", version, [scenario(root / "pool" / "stalled_env.toml")])


def loaded(directory: Path, outcome: str, version: str = "1") -> Expectations:
    return listing(directory, ENTRY.format(outcome=outcome), version)


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


MISTAKES = {
    "no version": ('expires = "2"', 'expires = "banana"', "cells[0].expires: a version, like 0.15"),
    "no such row": ("=process", "=carrier", "cells[0].cell: pool/stalled_env has no such row"),
    "no such scenario": ("stalled", "stolen", "cells[0].cell: there is no such scenario"),
    "no cell": ("[transport=process]", "", "cells[0].cell: component/scenario[row], without"),
    "no such checker": (
        "[[cells]]",
        '[[cells]]\ncheckers = ["rooting"]',
        "cells[0].checkers: there",
    ),
    "twice": ("", "", "cells[1].cell: is listed twice, got 'pool/stalled_env[transport=process]'"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_an_entry_that_could_never_hold_is_refused(tmp_path: Path, case: str):
    right, wrong, expected = MISTAKES[case]
    entry = ENTRY.format(outcome='"HANG"')
    text = entry.replace(right, wrong) if right else entry + entry
    with pytest.raises(UsageError, match=re.escape(expected)):
        listing(tmp_path, text)


def test_a_list_is_written_with_those_who_found_it():
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, Outcome.FAIL)
    opinion = replace(ROUTED, checker="ownership", contract=Contract.OPINION)
    cell = replace(cell, findings=(ROUTED, opinion))
    (entry,) = tomllib.loads(write([cell], "torchrl", "0.15"))["cells"]
    assert entry["checkers"] == ["routing"]


def test_the_checkers_of_an_entry_are_those_of_its_cells(tmp_path: Path):
    text = ENTRY.format(outcome='"HANG"') + 'checkers = ["routing"]\n'
    assert listing(tmp_path, text)[CELL].checkers == ("routing",)


KNOWN = replace(
    sample.cell(sample.CLOSED, "", sample.TORCHRL, Outcome.HANG),
    expected=Outcome.HANG,
    expected_reason="it polls",
    expected_checkers=("bounded_shutdown", "no_leaks"),
    expected_confirmed="torchrl-0.14.1/it_polls.py",
    expected_expires="0.14.9",
)


def rewritten(cell: CellResult) -> dict[str, object]:
    (entry,) = tomllib.loads(write([cell], "torchrl", "0.15"))["cells"]
    assert isinstance(entry, dict)
    return entry


def test_an_entry_of_a_cell_that_is_as_listed_is_written_as_it_was():
    assert rewritten(replace(KNOWN, findings=(replace(ROUTED, time=True),))) == {
        "cell": row_of(KNOWN.id),
        "outcome": "HANG",
        "checkers": ["bounded_shutdown", "no_leaks"],
        "reason": "it polls",
        "confirmed": "torchrl-0.14.1/it_polls.py",
        "expires": "0.14.9",
    }


def test_an_entry_of_a_cell_that_comes_to_something_else_keeps_all_but_that_and_who_finds_it():
    assert rewritten(replace(KNOWN, outcome=Outcome.FAIL, findings=(ROUTED,))) == {
        "cell": row_of(KNOWN.id),
        "outcome": "FAIL",
        "checkers": ["routing"],
        "reason": "it polls",
        "confirmed": "torchrl-0.14.1/it_polls.py",
        "expires": "0.14.9",
    }


def test_an_entry_of_a_cell_that_this_machine_cannot_run_stays():
    cell = replace(KNOWN, outcome=Outcome.UNSUPPORTED, lacking=True)
    assert rewritten(cell) == rewritten(KNOWN)


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.UNSUPPORTED])
def test_an_entry_of_a_cell_that_is_well_is_not_written(outcome: Outcome):
    assert "cells" not in tomllib.loads(write([replace(KNOWN, outcome=outcome)], "torchrl", "0.15"))


def test_an_entry_of_a_cell_that_is_new_expires_as_was_asked():
    cell = sample.cell(sample.CLOSED, "", sample.TORCHRL, Outcome.FAIL)
    assert rewritten(cell)["expires"] == "0.15"
