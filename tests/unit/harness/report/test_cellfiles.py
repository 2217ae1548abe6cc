"""A cell's directory is read whatever state it is in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harness.model.history import Kind
from harness.model.verdict import Outcome
from harness.report import cellfiles
from harness.report.cellfiles import CellFiles, read_cell
from tests.unit.harness.report import sample


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    sample.write_cell(tmp_path / "cell", Outcome.HANG)
    return tmp_path


def test_a_whole_directory_has_no_problems(run_dir: Path):
    assert read_cell(run_dir, "cell").problems == ()


def test_the_events_are_numbered_by_their_position(run_dir: Path):
    events = read_cell(run_dir, "cell").events
    assert [event.seq for event in events] == list(range(12))


def test_the_leftovers_are_named(run_dir: Path):
    assert read_cell(run_dir, "cell").leftovers == ("process python (pid 57)",)


def test_the_ending_is_found_beside_the_leftovers(run_dir: Path):
    assert read_cell(run_dir, "cell").ending["ended_by_us"] is True


def test_the_ending_is_found_under_its_own_key(run_dir: Path):
    (run_dir / "cell/ending.json").write_text(json.dumps({"ending": {"signal": 9}}))
    assert read_cell(run_dir, "cell").ending == {"signal": 9}


def test_a_cell_without_directory_has_no_problems(tmp_path: Path):
    assert read_cell(tmp_path, None) == CellFiles()


def test_a_missing_directory_is_told(tmp_path: Path):
    assert read_cell(tmp_path, "gone").problems == ("gone is missing",)


@pytest.mark.parametrize("name", ["..", "/etc", "a/../../b"])
def test_a_directory_outside_the_run_is_not_read(name: str, tmp_path: Path):
    (tmp_path / "run").mkdir()
    (problem,) = read_cell(tmp_path / "run", name).problems
    assert "outside the run's directory" in problem


def test_a_name_that_cannot_be_a_path_is_told(tmp_path: Path):
    (problem,) = read_cell(tmp_path, "a\0b").problems
    assert "null" in problem


@pytest.mark.parametrize("name", ["request.json", "journal.jsonl", "stderr.txt", "ending.json"])
def test_a_missing_file_is_told(name: str, run_dir: Path):
    (run_dir / "cell" / name).unlink()
    assert read_cell(run_dir, "cell").problems == (f"{name} is missing",)


def test_stacks_may_be_absent(run_dir: Path):
    (run_dir / "cell/stacks.txt").unlink()
    assert read_cell(run_dir, "cell").problems == ()


def test_what_a_failed_guardian_said_is_read(run_dir: Path):
    (run_dir / "cell/guardian.txt").write_text("OSError: no space left")
    found = read_cell(run_dir, "cell").guardian
    assert found is not None
    assert found.text == "OSError: no space left"


def test_a_pipe_in_the_place_of_a_file_does_not_block(run_dir: Path):
    (run_dir / "cell/stderr.txt").unlink()
    os.mkfifo(run_dir / "cell/stderr.txt")
    assert read_cell(run_dir, "cell").problems == ("stderr.txt is missing",)


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_broken_ending_is_told(text: str, run_dir: Path):
    (run_dir / "cell/ending.json").write_text(text, encoding="latin-1")
    assert read_cell(run_dir, "cell").problems == ("ending.json is broken",)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "[" * 100_000,
        '{"v": 2, "ts": 0, "pid": 1, "role": "driver", "kind": "note", "op": "x"}',
        '{"v": 1, "ts": "x", "pid": 1, "role": "driver", "kind": "note", "op": "x"}',
        '{"v": 1, "ts": Infinity, "pid": 1, "role": "driver", "kind": "note", "op": "x"}',
        '{"v": 1, "ts": 1e400, "pid": 1, "role": "driver", "kind": "note", "op": "x"}',
        '{"v": 1, "ts": 1' + "0" * 400 + ', "pid": 1, "role": "driver", "kind": "note", "op": "x"}',
        '{"v": 1, "ts": 0, "pid": 1, "role": "driver", "kind": "new", "op": "x"}',
        '{"v": 1, "ts": 0, "role": "driver", "kind": "note", "op": "x"}',
    ],
)
def test_a_broken_line_is_told_and_counts_as_an_event(line: str, run_dir: Path):
    lines = sample.journal(Outcome.PASS)[:3]
    (run_dir / "cell/journal.jsonl").write_text("\n".join([lines[0], line, lines[2]]))
    found = read_cell(run_dir, "cell")
    told = ("journal.jsonl: 1 broken line left out (event 1)",)
    assert ([event.seq for event in found.events], found.problems) == ([0, 2], told)


def test_an_event_without_data_has_empty_data(run_dir: Path):
    line = '{"v": 1, "ts": 0, "pid": 1, "role": "driver", "kind": "note", "op": "finished"}'
    (run_dir / "cell/journal.jsonl").write_text(line)
    (event,) = read_cell(run_dir, "cell").events
    assert (event.kind, event.data) == (Kind.NOTE, {})


def test_a_journal_that_is_too_long_is_cut_at_a_line(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cellfiles, "JOURNAL_BYTES_MAX", 300)
    found = read_cell(run_dir, "cell")
    size = (run_dir / "cell/journal.jsonl").stat().st_size
    told = (f"journal.jsonl: read the first 300 of {size} bytes",)
    assert (len(found.events), found.problems) == (2, told)


def test_the_end_of_stderr_is_kept(run_dir: Path):
    (run_dir / "cell/stderr.txt").write_text("a" * 10_000 + "the end")
    found = read_cell(run_dir, "cell").stderr
    assert found is not None
    assert (len(found.text), found.text[-7:], found.note) == (
        4096,
        "the end",
        "the last 4096 of 10007 bytes",
    )


def test_the_beginning_of_stacks_is_kept(run_dir: Path):
    (run_dir / "cell/stacks.txt").write_text("the start" + "a" * 20_000)
    found = read_cell(run_dir, "cell").stacks
    assert found is not None
    assert (len(found.text), found.text[:9]) == (16_384, "the start")
