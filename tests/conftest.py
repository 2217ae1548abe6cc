"""Every test of this folder leaves nothing behind, and in CI none is skipped for what is missing."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.leftovers import census, left_since

# What is drawn is the same in every run, and how long an example takes is the machine's affair.
settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def leaves_nothing_behind():
    """Fail the test that leaves a thread, a process, a descriptor or shared memory."""
    before = census()
    yield
    left = left_since(before)
    if left:
        pytest.fail("left behind: " + "; ".join(left), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """In CI everything but a GPU is there: a skip there would hide that a test never runs."""
    report = yield
    expected = hasattr(report, "wasxfail") or item.get_closest_marker("gpu")
    if report.skipped and not expected and os.environ.get("CI"):
        report.outcome, report.longrepr = "failed", f"skipped in CI: {report.longrepr[-1]}"
    return report
