"""Turns the record of a run into what people and CI read: HTML, JUnit, JSON, Markdown."""

from __future__ import annotations

from harness.report.publish import write_all
from harness.report.record import ReportError, read_json, write_json

__all__ = ["ReportError", "read_json", "write_all", "write_json"]
