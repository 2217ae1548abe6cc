"""JUnit XML says the same as the verdicts."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import pytest

from harness.model.run import CellResult, RunRecord
from harness.model.verdict import Outcome
from harness.report import junit
from tests.unit.harness.report import sample


def parsed(*cells: CellResult) -> ET.Element:
    record = replace(sample.record(), cells=cells) if cells else sample.record()
    return ET.fromstring(junit.render(record))


def tags(root: ET.Element, name: str) -> Counter[str]:
    return Counter(child.tag for case in root.iter(name) for child in case)


def verdict(cell: CellResult) -> ET.Element:
    (case,) = parsed(cell).iter("testcase")
    (found,) = case
    return found


def test_every_cell_is_one_case():
    names = [case.get("name") for case in parsed().iter("testcase")]
    assert sorted(map(str, names)) == sorted(cell.id for cell in sample.record().cells)


def test_every_backend_is_one_suite():
    assert [suite.get("name") for suite in parsed()] == list(sample.BACKENDS)


def test_the_counts_of_a_suite_agree_with_its_cases():
    for suite in (*parsed(), *parsed(sample.fail()), *parsed(sample.vacuous())):
        found = Counter(child.tag for case in suite for child in case)
        counted = [suite.get(key) for key in ("tests", "failures", "errors", "skipped")]
        seen = [len(suite), found["failure"], found["error"], found["skipped"]]
        assert counted == list(map(str, seen))


def test_the_counts_of_the_whole_are_the_sums_of_its_suites():
    root = parsed()
    for key in ("tests", "failures", "errors", "skipped"):
        assert root.get(key) == str(sum(int(suite.get(key, "")) for suite in root))


@pytest.mark.parametrize(
    ("outcome", "tag"),
    [
        (Outcome.FAIL, "failure"),
        (Outcome.HANG, "failure"),
        (Outcome.CRASH, "failure"),
        (Outcome.LEAK, "failure"),
        (Outcome.UNKNOWN, "error"),
        (Outcome.VACUOUS, "error"),
        (Outcome.HARNESS_ERROR, "error"),
        (Outcome.UNSUPPORTED, "skipped"),
    ],
)
def test_an_outcome_that_is_not_listed_has_its_tag(outcome: Outcome, tag: str):
    assert verdict(sample.cell(sample.CLOSED, "", sample.TORCHRL, outcome)).tag == tag


def test_a_pass_has_no_verdict():
    (case,) = parsed(sample.better()).iter("testcase")
    assert list(case) == []


def test_a_cell_that_is_as_listed_is_skipped_with_the_reason():
    found = verdict(sample.hang())
    wanted = "expected: shutdown polls a closed queue, pytorch/rl#4701"
    assert (found.tag, found.get("message")) == ("skipped", wanted)


def test_a_red_cell_that_is_better_than_listed_is_skipped():
    found = verdict(replace(sample.fail(), expected=Outcome.HANG, expected_reason="polls"))
    wanted = "FAIL, better than the expected HANG: polls"
    assert (found.tag, found.get("message")) == ("skipped", wanted)


def test_a_cell_that_is_worse_than_listed_is_a_failure():
    assert verdict(sample.crash()).tag == "failure"


def test_an_unsupported_cell_is_skipped_with_its_reason():
    found = verdict(sample.unsupported(sample.HELD, ""))
    assert found.get("message") == "gymnasium has no weight sync"


def test_a_listed_cell_that_this_machine_cannot_run_is_skipped_with_what_it_lacks():
    cell = replace(sample.unsupported(sample.HELD, ""), expected=Outcome.HANG, lacking=True)
    assert verdict(cell).get("message") == "not run here: gymnasium has no weight sync"


def test_the_message_of_a_failure_carries_the_replay_command():
    cell = sample.fail()
    assert str(verdict(cell).get("message")).endswith(f"; replay: {cell.replay}")


def test_the_message_says_how_many_runs_failed():
    found = verdict(replace(sample.hang(), expected=None))
    assert str(found.get("message")).startswith("HANG (3 of 5 runs): ")


def test_text_that_xml_forbids_is_made_visible():
    cell = replace(sample.fail(), reason="a\x00b\x1b[1mc\ud800 <b>&", title="\ufffe")
    assert "a\u2400bc\\ud800 <b>&" in str(verdict(cell).get("message"))


def test_many_findings_are_cut():
    cell = sample.fail()
    body = verdict(replace(cell, findings=cell.findings * 100)).text or ""
    assert "and 150 more findings" in body


def test_an_empty_run_is_valid():
    assert ET.fromstring(junit.render(RunRecord())).get("tests") == "0"
