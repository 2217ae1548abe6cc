"""Pages are whole, safe and self-contained, whatever text they show."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from harness.model.run import RunRecord
from harness.model.verdict import Outcome
from tests.unit.harness.report import sample
from tests.unit.harness.report.pages import HOSTILE, INDEX, Page, written


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    sample.write_cells(sample.record(), path)
    return path


@pytest.fixture(scope="module")
def texts(run_dir: Path) -> dict[str, str]:
    return dict(written(sample.record(), run_dir))


@pytest.fixture(scope="module")
def pages(texts: dict[str, str]) -> dict[str, Page]:
    return {name: Page(text) for name, text in texts.items()}


def test_every_tag_is_closed(pages: dict[str, Page]):
    assert [name for name, page in pages.items() if page.open] == []


def test_no_id_stands_twice_in_a_page(pages: dict[str, Page]):
    assert [name for name, page in pages.items() if max(page.ids.values()) > 1] == []


def test_every_link_leads_to_a_page_to_a_place_in_one_or_to_a_file(
    pages: dict[str, Page], run_dir: Path
):
    links = [
        (Path(name).parent, name, unquote(href))
        for name, page in pages.items()
        for href in page.values("a", "href")
    ]
    assert len(links) > len(pages)
    for folder, name, href in links:
        if href.startswith("#"):
            assert href[1:] in pages[name].ids
        else:
            there = (run_dir / folder / href).resolve().relative_to(run_dir.resolve())
            assert str(there) in pages or (run_dir / there).is_file(), (name, href)


def test_every_mark_is_drawn_in_its_page(pages: dict[str, Page]):
    for page in pages.values():
        assert {href[1:] for href in page.values("use", "href")} <= set(page.ids)


def test_every_outcome_has_a_shape_and_a_colour(texts: dict[str, str]):
    for text in texts.values():
        assert {f"m-{outcome}" for outcome in Outcome} <= set(Page(text).ids)
        assert all(f".o-{outcome} {{" in text for outcome in Outcome)


def test_no_page_needs_the_network(texts: dict[str, str]):
    for text in texts.values():
        addresses = [v for _, name, v in Page(text).attributes if name in ("src", "href", "action")]
        assert "//" not in "".join(addresses)
        assert not re.search(r"url\(|@import|fetch\(|https?:", text)


@pytest.mark.parametrize("tag", ["script", "style"])
def test_the_policy_names_the_only_script_and_the_only_style(texts: dict[str, str], tag: str):
    for text in texts.values():
        (inner,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in text


def test_no_attribute_brings_style_or_script(pages: dict[str, Page]):
    names = {name for page in pages.values() for _, name, _ in page.attributes}
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
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("hostile")
    return dict(written(hostile_run(path), path))


def test_hostile_text_brings_no_tag_and_no_attribute(hostile: dict[str, str]):
    assert len(hostile) == 2
    for text in hostile.values():
        found = Page(text)
        assert (found.tags["script"], found.tags["img"], found.open) == (1, 0, [])
        assert "onerror" not in {name for _, name, _ in found.attributes}


def test_hostile_text_brings_no_control_character(hostile: dict[str, str]):
    for text in hostile.values():
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", text)


def test_a_hostile_id_names_a_page_in_the_folder_of_pages(hostile: dict[str, str]):
    (name,) = set(hostile) - {INDEX}
    assert re.fullmatch(r"pages/[\w.@=,+-]+\.html", name)


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
    found = written(replace(sample.record(), cells=(shown,)), tmp_path)
    assert max(map(len, found.values())) < 80_000
