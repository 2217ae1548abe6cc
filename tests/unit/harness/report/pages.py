"""What the tests of pages look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

from harness.model.run import RunRecord
from harness.report import cell, index
from harness.report.matrix import entries

INDEX = "index.html"
VOID = {"meta", "input", "br", "link", "img"}
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x00\x1b[31m\ud800"


class Page(HTMLParser):
    """Collects what the tests look at; a tag that closes no open one fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.content: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids.update(value or "" for name, value in attrs if name == "id")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.content.append(data)

    def values(self, tag: str, name: str) -> list[str]:
        return [value for t, n, value in self.attributes if (t, n) == (tag, name)]


def written(record: RunRecord, run_dir: Path) -> Mapping[str, str]:
    """All pages of a run by name, the index first."""
    found = entries(record)
    return {INDEX: index.render(record, found), **dict(cell.pages(found, run_dir))}
