"""Writes all that a run leaves for its readers."""

from __future__ import annotations

from pathlib import Path

from harness.model.run import RunRecord
from harness.report import html, junit, summary
from harness.report.record import write_json, write_text


def write_all(record: RunRecord, run_dir: Path) -> None:
    """Write `run.json`, `junit.xml`, `summary.md` and `index.html`; the record comes first.

    Args:
        record: the run.
        run_dir: an existing directory, the one that the cells' directories are relative to.
    """
    write_json(record, run_dir / "run.json")
    write_text(run_dir / "junit.xml", junit.render(record))
    write_text(run_dir / "summary.md", summary.render(record))
    write_text(run_dir / "index.html", html.render(record, run_dir))
