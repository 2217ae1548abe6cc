"""All that a run leaves for its readers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.model.run import RunRecord
from harness.report import read_json, write_all
from tests.unit.harness.report import sample


def test_four_files_are_written_and_the_pages(tmp_path: Path):
    write_all(sample.record(), tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["index.html", "junit.xml", "pages", "run.json", "summary.md"]


def test_writing_again_replaces_what_was_there(tmp_path: Path):
    write_all(RunRecord(), tmp_path)
    write_all(sample.record(), tmp_path)
    assert read_json(tmp_path / "run.json") == sample.record()


def test_text_that_is_no_utf8_does_not_stop_the_report(tmp_path: Path):
    cell = replace(sample.fail(), scenario="a\udcff.toml", title="\ud800", reason="\udfff")
    write_all(replace(sample.record(), cells=(cell,)), tmp_path)
    assert (tmp_path / "index.html").read_text("utf-8").endswith("</html>\n")
