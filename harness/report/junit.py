"""JUnit XML: one suite a backend, one case a cell."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence

from harness.model.run import CellResult, RunRecord
from harness.model.standing import Standing, standing
from harness.model.verdict import FAILURES, Outcome
from harness.report.standing import backend_ids, repeats
from harness.report.text import one_line, printable

FINDING_LIMIT = 2_000
FINDINGS_SHOWN = 50


def render(record: RunRecord) -> str:
    """The record as JUnit XML.

    FAIL, HANG, CRASH and LEAK are failures; UNKNOWN, VACUOUS and HARNESS-ERROR are errors;
    UNSUPPORTED is skipped with its reason. A cell that is as listed, or red but better than
    listed, is skipped with the reason of the list: it does not fail the run either.
    """
    root = ET.Element("testsuites", name="harness", time=f"{record.seconds:.3f}")
    for backend in backend_ids(record):
        cells = [cell for cell in record.cells if cell.backend == backend]
        root.append(_suite(backend, cells))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, 0)) for suite in root)))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(backend: str, cells: Sequence[CellResult]) -> ET.Element:
    cases = [_case(cell) for cell in cells]
    tags = Counter(child.tag for case in cases for child in case)
    suite = ET.Element(
        "testsuite",
        name=printable(backend),
        tests=str(len(cases)),
        failures=str(tags["failure"]),
        errors=str(tags["error"]),
        skipped=str(tags["skipped"]),
        time=f"{sum(cell.seconds for cell in cells):.3f}",
    )
    suite.extend(cases)
    return suite


def _case(cell: CellResult) -> ET.Element:
    case = ET.Element(
        "testcase",
        name=printable(cell.id),
        classname=printable(cell.component),
        file=printable(cell.scenario),
        time=f"{cell.seconds:.3f}",
    )
    tag = _tag(cell)
    if tag == "skipped":
        ET.SubElement(case, tag, message=_why_skipped(cell))
    elif tag is not None:
        verdict = ET.SubElement(case, tag, type=cell.outcome.value, message=_message(cell))
        verdict.text = _body(cell)
    return case


def _tag(cell: CellResult) -> str | None:
    if cell.outcome is Outcome.PASS:
        return None
    if cell.outcome is Outcome.UNSUPPORTED:
        return "skipped"
    if standing(cell) in (Standing.LISTED, Standing.BETTER):
        return "skipped"
    return "failure" if cell.outcome in FAILURES else "error"


def _why_skipped(cell: CellResult) -> str:
    if cell.outcome is Outcome.UNSUPPORTED:
        return "not run here: " * (standing(cell) is Standing.NOT_HERE) + one_line(cell.reason)
    reason = one_line(cell.expected_reason or "listed without a reason")
    if standing(cell) is Standing.LISTED:
        return f"expected: {reason}"
    return f"{cell.outcome}, better than the expected {cell.listed_as}: {reason}"


def _message(cell: CellResult) -> str:
    times = repeats(cell)
    seen = f"{cell.outcome} ({times} runs)" if times else cell.outcome.value
    return f"{seen}: {one_line(cell.reason)}; replay: {printable(cell.replay)}"


def _body(cell: CellResult) -> str:
    shown = cell.findings[:FINDINGS_SHOWN]
    lines = [f"{f.checker} ({f.contract}): {one_line(f.text, FINDING_LIMIT)}" for f in shown]
    if len(cell.findings) > len(shown):
        lines.append(f"and {len(cell.findings) - len(shown)} more findings")
    if cell.expected is not None:
        lines.append(f"listed as {cell.listed_as}: {one_line(cell.expected_reason or '')}")
    lines.append(f"replay: {printable(cell.replay)}")
    return "\n".join(lines)
