"""The page of a cell: what was expected and seen, and all that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.report.cellfiles import read_cell
from harness.report.detail import Detail, detail
from harness.report.matrix import Entry
from harness.report.standing import row_name
from harness.report.templates import rendered


def pages(found: Sequence[Entry], run_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield where each page is, relative to the run's directory, and the page; one at a time is in memory.

    Args:
        found: the cells that are shown, those without a page among them.
        run_dir: where the cells' directories are; a missing or broken file in one is shown as such.
    """
    rows: dict[str, list[Entry]] = {}
    for entry in found:
        rows.setdefault(row_name(entry.cell), []).append(entry)
    for entry in found:
        if entry.page is not None:
            row = rows[row_name(entry.cell)]
            others = [other for other in row if other is not entry and other.page is not None]
            shown = _detail(entry, run_dir)
            yield entry.page, rendered("cell", entry=entry, others=others, shown=shown)


def _detail(entry: Entry, run_dir: Path) -> Detail:
    second = entry.cell.confirmation
    alone = read_cell(run_dir, second.directory if second else None)
    return detail(entry.cell, read_cell(run_dir, entry.cell.directory), alone)
