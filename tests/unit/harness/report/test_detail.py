"""One cell's record, joined with its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.history import Kind
from harness.model.run import CellResult
from harness.model.scenario import Expected
from harness.model.verdict import Contract, Finding, Outcome
from harness.report.cellfiles import CellFiles, read_cell
from harness.report.detail import EXPECTS, Detail, detail
from tests.unit.harness.report import sample
from tests.unit.harness.report.journals import event


@pytest.fixture
def files(tmp_path: Path) -> CellFiles:
    sample.write_cell(tmp_path / "cell", Outcome.HANG)
    return read_cell(tmp_path, "cell")


def with_findings(*findings: Finding) -> CellResult:
    return replace(sample.fail(), findings=findings)


def finding(contract: Contract = Contract.LIVENESS, *events: int, text: str = "wrong") -> Finding:
    return Finding(checker="routing", text=text, contract=contract, events=events)


def shown(cell: CellResult) -> Detail:
    return detail(cell, CellFiles())


def test_findings_are_grouped_by_contract_with_opinions_last():
    found = shown(with_findings(*(finding(contract) for contract in reversed(Contract))))
    assert [group.contract for group in found.groups] == list(Contract)


def test_evidence_is_linked_if_its_event_is_shown(files: CellFiles):
    (group,) = detail(with_findings(finding(Contract.LIVENESS, 2, 99)), files).groups
    assert [(each.seq, each.shown) for each in group.findings[0].evidence] == [
        (2, True),
        (99, False),
    ]


def test_too_much_evidence_is_counted():
    (group,) = shown(with_findings(finding(Contract.LIVENESS, *range(20)))).groups
    assert (len(group.findings[0].evidence), group.findings[0].evidence_left_out) == (16, 4)


def test_a_long_finding_is_cut():
    (group,) = shown(with_findings(finding(text="x" * 100_000))).groups
    assert len(group.findings[0].text) < 1_100


def test_too_many_findings_are_counted():
    assert shown(with_findings(*[finding()] * 60)).findings_left_out == 10


def test_a_fault_has_three_stages_with_what_the_journal_says(files: CellFiles):
    (fault,) = detail(sample.hang(), files).faults
    assert [(stage.name, stage.seen, stage.detail) for stage in fault.stages] == [
        ("armed", True, "at shutdown"),
        ("reached", True, "before shutdown"),
        ("effect", True, "results: owner end closed"),
    ]


def test_a_fault_that_was_not_reached_shows_it():
    (fault,) = shown(sample.vacuous()).faults
    assert [stage.seen for stage in fault.stages] == [True, False, False]


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        ({}, ""),
        ({"exit_code": 3}, "did not come to the end; exit code 3"),
        ({"signal": 11}, "did not come to the end; ended by SIGSEGV"),
        ({"signal": "odd"}, "did not come to the end; ended by signal odd"),
        ({"error": "gone"}, "did not come to the end; error of the harness: gone"),
        (
            {"ended_by_us": True, "hang": "spinning"},
            "did not come to the end; the session was ended from outside; hung: spinning",
        ),
    ],
)
def test_the_ending_is_a_sentence(ending: dict[str, object], sentence: str):
    assert detail(sample.fail(), CellFiles(ending=ending)).ending == sentence


def test_a_driver_that_left_as_its_last_step_says_need_not_come_to_the_end():
    events = (event(0, Kind.INVOKE, "leave", 1), event(1, Kind.OK, "leave", 1, exit_code=0))
    found = detail(sample.fail(), CellFiles(ending={"exit_code": 0}, events=events))
    assert found.ending == "left, as its last step says; exit code 0"


def test_an_owner_that_a_fault_ended_says_so():
    events = (event(0, Kind.FAULT, "signal_owner", id="f1", record="effect"),)
    found = detail(sample.fail(), CellFiles(ending={"signal": 9}, events=events))
    assert found.ending == "was signalled, as the fault says; ended by SIGKILL"


def test_a_driver_that_journalled_its_end_came_to_it(tmp_path: Path):
    sample.write_cell(tmp_path / "cell", Outcome.PASS)
    found = detail(sample.fail(), read_cell(tmp_path, "cell"))
    assert found.ending == "came to the end; exit code 0"


def test_every_outcome_that_a_scenario_may_expect_is_explained():
    assert set(EXPECTS) == set(Expected)
