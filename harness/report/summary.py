"""A Markdown summary that also reads well in a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.model.run import CellResult, RunRecord
from harness.model.selftest import BugSeen, Selftest
from harness.model.standing import Standing, standing
from harness.report.selftest import power_word, ranked
from harness.report.standing import QUIET, backend_ids, counts, differing, judged, row_name
from harness.report.text import one_line, plural, printable

ROWS_MAX = 60  # beyond it, rows in which every cell passed or is unsupported are only counted
DIFFERING_MAX = 100
REMARK: Final = {
    Standing.EXPECTED: "",
    Standing.LISTED: ", listed",
    Standing.NOT_HERE: ", not run here",
    Standing.BETTER: ", better",
    Standing.INCONCLUSIVE: " (!)",
    Standing.WORSE: " (!)",
    Standing.HARNESS: " (!)",
}


def render(record: RunRecord) -> str:
    """Counts for each backend, rows x backends, and what differs from what was expected."""
    if record.selftest is not None:
        parts = [_heading(record), *_selftest(record.selftest)]
    else:
        parts = [_heading(record), _counts(record), _matrix(record), _differences(record)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(record: RunRecord) -> str:
    facts = [
        plural(len(record.cells), "cell"),
        plural(len(backend_ids(record)), "backend"),
        f"{record.seconds:.1f} s",
        f"seed {record.seed}",
        f"time scale {record.time_scale:g}",
    ]
    text = "# Harness run\n\n" + ", ".join(facts)
    if record.interrupted:
        text += "\n\n**Interrupted: only what was done until then is shown.**"
    elif record.failed:
        text += f"\n\n**The harness could not go on: {_prose(record.failed)}**"
    return text


def _counts(record: RunRecord) -> str:
    present = list(counts(record.cells))
    lines = []
    for backend in backend_ids(record):
        cells = [cell for cell in record.cells if cell.backend == backend]
        found = counts(cells)
        numbers = [str(found.get(outcome, 0)) for outcome in present]
        lines.append([_code(backend), f"{judged(cells)} of {len(cells)}", *numbers])
    return _table(["backend", "judged", *present], lines)


def _matrix(record: RunRecord) -> str:
    backends = backend_ids(record)
    rows: dict[str, dict[str, CellResult]] = {}
    for cell in record.cells:
        rows.setdefault(row_name(cell), {})[cell.backend] = cell
    shown = rows
    if len(rows) > ROWS_MAX:
        shown = {name: row for name, row in rows.items() if _is_loud(row)}
    lines = [
        [_code(name), *(_word(row.get(backend)) for backend in backends)]
        for name, row in shown.items()
    ]
    table = _table(["row", *map(_code, backends)], lines)
    quiet = len(rows) - len(shown)
    return f"{table}\n\n{plural(quiet, 'row')} without anything red not shown." if quiet else table


def _differences(record: RunRecord) -> str:
    parts = []
    for where, cells in differing(record.cells).items():
        lines = [f"## {where.value.capitalize()} ({len(cells)})", ""]
        lines += [_difference(cell, where) for cell in cells[:DIFFERING_MAX]]
        if len(cells) > DIFFERING_MAX:
            lines.append(f"- and {len(cells) - DIFFERING_MAX} more")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) or ("All cells are as expected." if record.cells else "No cells.")


def _difference(cell: CellResult, where: Standing) -> str:
    listed = f", listed as {cell.listed_as}" if cell.listed else ""
    line = f"- {_code(cell.id)}: {cell.outcome}{listed}: {_prose(cell.reason)}"
    if where is Standing.BETTER:
        return line
    return f"{line}\n  replay: {_command(cell.replay)}"


def _selftest(selftest: Selftest) -> list[str]:
    """Who caught which planted bug, where that is not as declared, and the power of rows."""
    bugs = [
        [_code(bug.name), _caught(bug), bug.caught_by, str(len(bug.red))] for bug in selftest.bugs
    ]
    wrong = [
        f"- {_code(bug.name)}: {_prose(difference)}"
        for bug in selftest.bugs
        for difference in bug.differences()
    ]
    rows = [
        [_code(row.row), power_word(row), ", ".join(row.catches)] for row in ranked(selftest.rows)
    ]
    power = [f"- {name}: {n} of {m} rows have power" for name, (n, m) in selftest.power().items()]
    right = sum(bug.right for bug in selftest.bugs)
    return [
        "\n".join([f"- {right} of {len(bugs)} planted bugs are caught as declared", *power]),
        _table(["bug", "caught", "by", "red rows"], bugs),
        "\n".join(wrong),
        _table(["row", "power", "catches"], rows),
    ]


def _caught(bug: BugSeen) -> str:
    untried = f", {bug.untried} not run" if bug.untried else ""
    return ("as declared" if bug.right else "WRONG") + untried


def _is_loud(row: dict[str, CellResult]) -> bool:
    return any(
        cell.outcome not in QUIET or standing(cell) is not Standing.EXPECTED
        for cell in row.values()
    )


def _word(cell: CellResult | None) -> str:
    return "" if cell is None else cell.outcome + REMARK[standing(cell)]


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns padded to equal width, so that it reads without being rendered."""
    cells = [[text.replace("|", "\\|") for text in line] for line in (header, *lines)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    padded = [[t.ljust(width) for t, width in zip(line, widths, strict=True)] for line in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def _code(text: str, limit: int = 300) -> str:
    return _span(one_line(text, limit))


def _command(text: str) -> str:
    """A command to copy: nothing in it is cut or joined."""
    return _span(printable(text).replace("\n", " "))


def _span(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _prose(text: str) -> str:
    """One line in which nothing is markup that does harm; it must still read well unrendered."""
    return re.sub(r"[\\`*<]|(?<=\])\(", r"\\\g<0>", one_line(text))
