"""Known red cells are shown by scripts that do not need the harness, and each script is short."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.engine.loading import find, load

ROOT = Path(__file__).parents[2]
EXPECTED = sorted((ROOT / "scenarios/expected").glob("*.toml"))
CONFIRMED = ROOT / "reports/confirmed"
SCRIPTS = sorted(CONFIRMED.glob("*/*.py"))
LINES_MAX = 40


def entries(path: Path) -> Iterator[dict[str, str]]:
    yield from tomllib.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_script_is_short_and_says_what_ought_to_be(script: Path):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_MAX
    assert ast.get_docstring(ast.parse(text))
    assert "CONFIRMED" in text


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.stem)
def test_a_listed_cell_names_the_script_that_shows_it(path: Path):
    scripts = {f"{script.parent.name}/{script.name}" for script in SCRIPTS}
    assert not [e["cell"] for e in entries(path) if e.get("confirmed") not in scripts]


def test_each_listed_cell_exists():
    rows = {row for loaded in map(load, find((ROOT / "scenarios",))) for row in loaded.row_ids()}
    listed = {entry["cell"] for path in EXPECTED for entry in entries(path)}
    assert not listed - rows


def test_a_script_stands_for_a_listed_cell_or_the_readme_says_for_what():
    named = {entry.get("confirmed") for path in EXPECTED for entry in entries(path)}
    readme = (CONFIRMED / "README.md").read_text(encoding="utf-8")
    names = [f"{script.parent.name}/{script.name}" for script in SCRIPTS]
    assert not [name for name in names if name not in named and name not in readme]
