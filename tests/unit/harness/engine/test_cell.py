"""Whatever a cell leaves in its files costs that cell its verdict, and the supervisor nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harness.engine.cell import RunningCell
from harness.engine.diagnosis import Diagnosis
from harness.engine.judging import judge_directory
from harness.engine.request import CellRequest
from harness.model.plain import to_plain
from harness.model.verdict import Outcome
from harness.ports.pool import PoolSetup
from harness.ports.pool_verbs import Reset, Shutdown


@pytest.fixture
def cell(tmp_path: Path) -> RunningCell:
    request = CellRequest(
        cell="pool/x[]@y-1",
        adapter="x:y",
        component="pool",
        setup=to_plain(PoolSetup()),
        steps=(Reset(), Shutdown()),
        expect=("survives",),
    )
    (tmp_path / "request.json").write_text(json.dumps(request.to_plain()))
    (tmp_path / "journal.jsonl").touch()
    found = RunningCell(request, tmp_path)
    found.guardian = os.getpid()
    return found


@pytest.mark.parametrize(
    "line", ["not JSON", "{}", '{"kind": "invoke", "id": 1, "ts": 1, "data": {}}', "[1]", "\x00"]
)
def test_a_line_that_is_not_ours_does_not_end_the_run(cell: RunningCell, line: str):
    (cell.directory / "journal.jsonl").write_text(line + "\n")
    cell.watch()
    cell.finish()
    assert judge_directory(cell.directory).outcome is Outcome.HARNESS_ERROR


@pytest.mark.parametrize("text", ["", "{", '{"ended_by_us": tr'])
def test_half_an_account_is_none(cell: RunningCell, text: str):
    (cell.directory / "ending.json").write_text(text)
    cell.finish()
    verdict = judge_directory(cell.directory)
    assert verdict.outcome is Outcome.HARNESS_ERROR
    assert "no account" in verdict.reason


def test_a_driver_that_died_by_itself_did_not_hang(cell: RunningCell):
    cell.hang = "blocked"
    (cell.directory / "ending.json").write_text('{"ended_by_us": false, "exit_code": 3}')
    cell.finish()
    verdict = judge_directory(cell.directory)
    assert (verdict.outcome, verdict.hang) == (Outcome.CRASH, None)


def test_the_reason_of_a_hang_says_who_was_first(cell: RunningCell):
    cell.hang = "frozen"
    cell.diagnosis = Diagnosis(first="worker:1", waits_for="worker 1 (pid 57) is stopped")
    (cell.directory / "ending.json").write_text('{"ended_by_us": true}')
    cell.finish()
    verdict = judge_directory(cell.directory)
    assert verdict.outcome is Outcome.HANG
    assert verdict.reason.endswith(": worker 1 (pid 57) is stopped")


def test_a_cell_that_no_server_starts_is_lost(cell: RunningCell):
    cell.guardian = None
    cell.started_ns -= 61 * 10**9
    cell.watch()
    assert cell.lost
