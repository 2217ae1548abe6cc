"""One HTML file that needs nothing else: no network, no script (one helps if it may run)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from harness.model.run import RunRecord
from harness.model.verdict import Outcome
from harness.report.categories import categories, totals
from harness.report.cellfiles import read_cell
from harness.report.detail import Detail, detail
from harness.report.matrix import Entry, columns, entries, groups
from harness.report.selftest import power_word, shown, tells
from harness.report.standing import MEANING, backend_ids, counts, differing
from harness.report.text import compact, one_line, plural, printable

HERE = Path(__file__).parent


def render(record: RunRecord, run_dir: Path) -> str:
    """The report as an HTML document.

    Args:
        record: the run.
        run_dir: where the cells' directories are; a missing or broken file in one is shown as such.
    """
    found = entries(record)
    if record.selftest is not None:
        found = tuple(filter(tells, found))
    backends = backend_ids(record)
    anchors = {id(entry.cell): entry for entry in found}
    # The only text that is not escaped: two files of this package.
    style, script = (HERE / "page.css").read_text("utf-8"), (HERE / "page.js").read_text("utf-8")
    return (
        _environment()
        .get_template("page.html")
        .render(
            record=record,
            facts=_facts(record),
            columns=columns(record),
            backends=backends,
            groups=groups(found, backends),
            categories=categories(record),
            totals=totals(record),
            differing={
                where: [anchors[id(cell)] for cell in cells]
                for where, cells in differing([entry.cell for entry in found]).items()
            },
            outcomes=list(Outcome),
            counts=counts(record.cells),
            meaning=MEANING,
            selftest=None if record.selftest is None else shown(record.selftest, found),
            power_word=power_word,
            details=_details(found, run_dir),
            style=Markup(style),
            script=Markup(script),
            policy=_policy(style, script),
        )
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.filters["plural"] = plural
    environment.filters["line"] = one_line
    environment.filters["fragment"] = lambda anchor: "#" + quote(anchor)
    environment.filters["address"] = lambda name: quote(name, errors="replace")
    return environment


def _shown(value: object) -> object:
    """Every expression of the template passes here: text is made printable before it is escaped."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _details(found: tuple[Entry, ...], run_dir: Path) -> Iterator[tuple[Entry, Detail]]:
    """One cell's files at a time are in memory."""
    for entry in found:
        second = entry.cell.confirmation
        alone = read_cell(run_dir, second.directory if second else None)
        yield entry, detail(entry.cell, read_cell(run_dir, entry.cell.directory), alone)


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    """What the run was, as names and values."""
    facts = [
        ("seed", str(record.seed)),
        ("time scale", f"{record.time_scale:g}"),
        ("took", f"{record.seconds:.1f} s"),
    ]
    sources = [record.versions, record.machine]
    facts += [(one_line(k, 60), compact(v)) for values in sources for k, v in values.items()]
    return facts


def _policy(style: str, script: str) -> str:
    """A content security policy: this style and this script, and nothing from anywhere."""
    return f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
