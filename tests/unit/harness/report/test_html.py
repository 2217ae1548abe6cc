"""The HTML report: whole, safe and self-contained."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from harness.model.run import CellResult, Confirmation, RunRecord
from harness.model.verdict import Outcome
from harness.report import html
from tests.unit.harness.report import sample

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


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    sample.write_cells(sample.record(), path)
    return path


@pytest.fixture(scope="module")
def text(run_dir: Path) -> str:
    return html.render(sample.record(), run_dir)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def of(*cells: CellResult, run_dir: Path) -> Page:
    return Page(html.render(replace(sample.record(), cells=cells), run_dir))


def test_every_tag_is_closed(page: Page):
    assert page.open == []


def test_every_cell_is_an_anchor_once(page: Page):
    assert [page.ids[cell.id] for cell in sample.record().cells] == [1] * 19


def test_no_id_stands_twice(page: Page):
    assert max(page.ids.values()) == 1


def test_every_link_within_the_page_leads_somewhere(page: Page):
    links = [href for href in page.values("a", "href") if href.startswith("#")]
    assert links
    assert {unquote(href[1:]) for href in links} <= set(page.ids)


def test_every_mark_is_drawn_in_the_page(page: Page):
    assert {href[1:] for href in page.values("use", "href")} <= set(page.ids)


def test_every_outcome_has_a_shape(page: Page):
    assert {f"m-{outcome}" for outcome in Outcome} <= set(page.ids)


def test_every_cell_of_the_matrix_has_its_word(page: Page):
    assert all(outcome in page.content for outcome in Outcome)


def test_every_outcome_has_a_colour(text: str):
    assert all(f".o-{outcome} {{" in text for outcome in Outcome)


def test_every_cell_shows_its_replay_command(text: str):
    found = {cell.replay.replace("'", "&#39;") for cell in sample.record().cells}
    assert all(replay in text for replay in found)


def test_the_files_of_a_cell_are_linked(page: Page, run_dir: Path):
    links = [href for href in page.values("a", "href") if not href.startswith("#")]
    assert links
    assert all((run_dir / unquote(href)).is_file() for href in links)


def test_the_page_needs_no_network(text: str, page: Page):
    addresses = [v for _, name, v in page.attributes if name in ("src", "href", "action")]
    assert "//" not in "".join(addresses)
    assert not re.search(r"url\(|@import|fetch\(|https?:", text)


def test_the_policy_names_the_only_script(text: str):
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in text


def test_the_policy_names_the_only_style(text: str):
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src &#39;sha256-{digest}&#39;" in text


def test_no_attribute_brings_style_or_script(page: Page):
    names = {name for _, name, _ in page.attributes}
    assert not [name for name in names if name == "style" or name.startswith("on")]


def hostile_run(run_dir: Path) -> RunRecord:
    cell = sample.hang()
    shown = sample.record()
    path = run_dir / "cells" / "hostile"
    sample.write_cell(path, Outcome.HANG)
    (path / "stderr.txt").write_text(HOSTILE, errors="replace")
    (path / "stacks.txt").write_text(HOSTILE, errors="replace")
    (path / "journal.jsonl").write_text(sample.event(0, "invoke", HOSTILE, 1, text=HOSTILE))
    return replace(
        shown,
        versions={HOSTILE: HOSTILE},
        machine={HOSTILE: [HOSTILE]},
        backends=tuple(replace(b, python=HOSTILE, id=b.id + HOSTILE) for b in shown.backends),
        cells=(
            replace(
                cell,
                id=f"pool/{HOSTILE}[{HOSTILE}]@{HOSTILE}",
                row=HOSTILE,
                backend=HOSTILE,
                title=HOSTILE,
                scenario=HOSTILE,
                component=HOSTILE,
                reason=HOSTILE,
                expected_reason=HOSTILE,
                replay=HOSTILE,
                expect=(HOSTILE,),
                directory="cells/hostile",
                runs={HOSTILE: 1, "HANG": 1, "n": 2},
                findings=tuple(replace(f, text=HOSTILE, checker=HOSTILE) for f in cell.findings),
                faults=tuple(
                    replace(f, name=HOSTILE, id=HOSTILE, effect=HOSTILE) for f in cell.faults
                ),
                checkers=tuple(replace(c, name=HOSTILE, error=HOSTILE) for c in cell.checkers),
            ),
        ),
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("hostile")
    return html.render(hostile_run(path), path)


def test_hostile_text_brings_no_tag(hostile: str):
    found = Page(hostile)
    assert (found.tags["script"], found.tags["img"], found.open) == (1, 0, [])


def test_hostile_text_brings_no_attribute(hostile: str):
    assert "onerror" not in {name for _, name, _ in Page(hostile).attributes}


def test_hostile_text_brings_no_control_character(hostile: str):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", hostile)


def test_huge_text_is_cut(tmp_path: Path):
    huge = "x" * 5_000_000
    cell = sample.hang()
    findings = tuple(replace(f, text=huge) for f in cell.findings)
    sample.write_cell(tmp_path / "cell", Outcome.HANG)
    for name in ("stderr.txt", "stacks.txt", "request.json", "journal.jsonl"):
        (tmp_path / "cell" / name).write_text(huge)
    shown = replace(
        cell, title=huge, reason=huge, expected_reason=huge, findings=findings, directory="cell"
    )
    assert len(html.render(replace(sample.record(), cells=(shown,)), tmp_path)) < 100_000


def test_a_missing_directory_is_shown(tmp_path: Path):
    found = of(sample.broken(), run_dir=tmp_path)
    assert "cells/missing is missing" in found.content


def test_a_cell_without_files_says_so(tmp_path: Path):
    found = of(sample.unsupported(sample.HELD, ""), run_dir=tmp_path)
    assert "No files were kept for this cell." in found.content


def test_an_interrupted_run_says_so(tmp_path: Path):
    record = RunRecord(interrupted=True)
    assert "Interrupted: only what was done until then is shown." in html.render(record, tmp_path)


def test_an_empty_run_says_so(tmp_path: Path):
    assert "No cell was run." in html.render(RunRecord(), tmp_path)


def test_without_differences_the_page_says_so(tmp_path: Path):
    assert "Every cell is as expected." in of(sample.hang(), run_dir=tmp_path).content


def test_opinions_are_marked_as_such(page: Page):
    assert "findings c-opinion" in page.values("div", "class")


def test_every_cell_that_ran_links_to_its_replay_from_the_matrix(page: Page):
    links = [unquote(href) for href in page.values("a", "href") if href.endswith("replay")]
    ran = [c for c in sample.record().cells if c.outcome is not Outcome.UNSUPPORTED]
    assert sorted(links) == sorted(f"#{cell.id}:replay" for cell in ran)


def test_a_cell_with_a_journal_is_drawn(tmp_path: Path):
    sample.write_cell(tmp_path / "cell", Outcome.HANG)
    found = of(replace(sample.hang(), directory="cell"), run_dir=tmp_path)
    assert "drawing" in found.values("svg", "class")
    assert "drawing latency" in found.values("svg", "class")


def test_a_long_journal_is_drawn_within_bounds(tmp_path: Path):
    sample.write_cell(tmp_path / "cell", Outcome.PASS)
    lines = [
        line
        for n in range(5_000)
        for line in (
            sample.event(3 * n, "invoke", "step", n, deadline_s=1.0, grace_s=2.0, actions=[n]),
            sample.event(3 * n + 1, "observe", "step", action=n),
            sample.event(3 * n + 2, "ok", "step", n),
        )
    ]
    (tmp_path / "cell" / "journal.jsonl").write_text("\n".join(lines))
    cell = replace(sample.cell(sample.HELD, "", sample.REFERENCE, Outcome.PASS), directory="cell")
    text = html.render(replace(sample.record(), cells=(cell,)), tmp_path)
    assert len(text) < 200_000


def test_the_categories_say_how_much_was_judged(page: Page):
    assert any(text.startswith("judged ") for text in page.content)


def test_a_run_that_confirmed_another_is_shown_and_linked(tmp_path: Path):
    sample.write_cell(tmp_path / "cell" / "1", Outcome.HANG)
    sample.write_cell(tmp_path / "cell" / "2", Outcome.PASS)
    alone = Confirmation(
        outcome=Outcome.PASS, reason="all was well", seconds=0.5, directory="cell/2"
    )
    found = of(replace(sample.hang(), directory="cell/1", confirmation=alone), run_dir=tmp_path)
    assert "run again, alone" in found.content
    assert any("all was well" in text for text in found.content)
    assert "cell/2/journal.jsonl" in found.values("a", "href")


def test_a_cell_that_needed_no_confirmation_says_nothing_of_one(page: Page):
    assert "run again, alone" not in page.content


def test_a_self_test_says_how_many_rows_have_power(tmp_path: Path):
    assert "pool: 1 of 3 rows have power" in Page(html.render(sample.selftest(), tmp_path)).content


def test_a_planted_bug_links_to_the_red_cells_that_are_shown(tmp_path: Path):
    found = Page(html.render(sample.selftest(), tmp_path))
    links = [unquote(href) for href in found.values("a", "href")]
    assert "#pool/partial_reset[transport=thread]@mask_lost-planted" in links


def test_a_self_test_leaves_out_the_cells_that_passed(tmp_path: Path):
    found = Page(html.render(sample.selftest(), tmp_path))
    assert found.values("details", "id") == [
        "legend",
        "pool/partial_reset[transport=thread]@mask_lost-planted",
    ]


def test_a_bug_that_is_not_caught_as_declared_says_where(tmp_path: Path):
    found = Page(html.render(sample.selftest(), tmp_path))
    assert "not red: pool/failing_env[transport=thread]" in found.content
