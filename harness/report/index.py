"""The page of a run: how its cells add up, what is not as expected, and the matrix."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.run import RunRecord
from harness.model.verdict import Outcome
from harness.report.categories import categories, totals
from harness.report.matrix import Entry, columns, groups
from harness.report.selftest import power_word, shown
from harness.report.standing import MEANING, backend_ids, counts, differing
from harness.report.templates import rendered
from harness.report.text import compact, one_line


def render(record: RunRecord, found: Sequence[Entry]) -> str:
    """Return the page as an HTML document.

    Args:
        record: the run.
        found: its cells, as they are shown.
    """
    backends = backend_ids(record)
    shown_as = {id(entry.cell): entry for entry in found}
    return rendered(
        "index",
        record=record,
        entries=found,
        facts=_facts(record),
        columns=columns(record),
        backends=backends,
        groups=groups(found, backends),
        categories=categories(record),
        totals=totals(record),
        differing={
            where: [shown_as[id(cell)] for cell in cells]
            for where, cells in differing([entry.cell for entry in found]).items()
        },
        outcomes=list(Outcome),
        counts=counts(record.cells),
        meaning=MEANING,
        selftest=None if record.selftest is None else shown(record.selftest, found),
        power_word=power_word,
    )


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
