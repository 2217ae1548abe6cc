"""Writes all that a run leaves for its readers."""

from __future__ import annotations

from pathlib import Path

from harness.model.run import RunRecord
from harness.report import cell, index, junit, summary
from harness.report.matrix import entries
from harness.report.record import write_json, write_text


def write_all(record: RunRecord, run_dir: Path) -> None:
    """Write `run.json`, `junit.xml`, `summary.md`, a page for each cell, and `index.html`; the record comes first.

    Args:
        record: the run.
        run_dir: an existing directory, the one that the cells' directories are relative to.
    """
    write_json(record, run_dir / "run.json")
    write_text(run_dir / "junit.xml", junit.render(record))
    write_text(run_dir / "summary.md", summary.render(record))
    found = entries(record)
    for where, page in cell.pages(found, run_dir):
        (run_dir / where).parent.mkdir(exist_ok=True)
        write_text(run_dir / where, page)
    write_text(run_dir / "index.html", index.render(record, found))
