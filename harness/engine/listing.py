"""What there is to run, and what a backend can run of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness.checkers import CHECKERS
from harness.engine.components import COMPONENTS
from harness.engine.loading import Loaded
from harness.engine.plan import Options, jobs_of
from harness.engine.servers import Column
from harness.model.scenario import row_of


def everything(scenarios: Sequence[Loaded], backends: Sequence[str]) -> str:
    """Scenarios with the keys of their rows, then checkers, faults and backends."""
    lines = []
    for loaded in scenarios:
        rows = loaded.scenario.rows()
        lines.append(
            f"{loaded.component.name}/{loaded.name} ({len(rows)} rows): {loaded.scenario.title}"
        )
        lines += [f"  [{row.key}]" for row in rows if row.key]
    for component in COMPONENTS.values():
        lines.append(f"{component.name} verbs: {', '.join(component.verbs)}")
        lines.append(f"{component.name} faults: {', '.join(component.faults)}")
    lines.append(f"checkers: {', '.join(checker.name for checker in CHECKERS)}")
    lines.append(f"backends: {', '.join(backends)}")
    return "\n".join(lines)


def for_backend(scenarios: Sequence[Loaded], column: Column) -> str:
    """Which rows a backend can run, and how many more each thing that it does not declare would unlock."""
    options = Options(backends=(column.wanted.name,))
    jobs = jobs_of(scenarios, [column], options, Path(), 1.0)
    lines = [row_of(job.blank.id) for job in jobs if job.unsupported is None]
    missing = Counter(job.unsupported for job in jobs if job.unsupported is not None)
    head = f"{column.info.id}: can run {len(lines)} of {len(jobs)} rows"
    unlock = [
        f"{count} rows more without this: {reason}" for reason, count in missing.most_common()
    ]
    return "\n".join([head, *lines, *unlock])
