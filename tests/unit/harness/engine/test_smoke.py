"""The smoke selection is data: written by a self-test, read by a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engine.loading import find
from harness.engine.smoke import beside, read, render
from harness.engine.usage import UsageError
from harness.model.selftest import RowSeen

ROWS = (
    RowSeen(row="pool/a[x=1]", clean=False, catches=("one", "two"), beyond=(), seconds=0.25),
    RowSeen(row="pool/b[]", clean=True, catches=("three",), beyond=(), seconds=1.0),
)


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    """A directory with one scenario and a selection beside its component."""
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "a_run.toml").write_text("")
    (tmp_path / "smoke.toml").write_text(render(ROWS))
    return tmp_path


def test_what_is_written_reads_back(scenarios: Path):
    found = [(each.row, each.seconds, each.catches) for each in read(scenarios / "smoke.toml")]
    assert found == [(each.row, each.seconds, each.catches) for each in ROWS]


def test_the_selection_is_no_scenario(scenarios: Path):
    assert find([scenarios]) == [scenarios / "pool" / "a_run.toml"]


def test_the_selection_lies_beside_the_components(scenarios: Path):
    assert beside([scenarios / "pool" / "a_run.toml"]) == scenarios / "smoke.toml"


def test_without_a_selection_there_is_one_line(tmp_path: Path):
    with pytest.raises(UsageError, match=r"--smoke: there is no .*smoke\.toml"):
        beside([tmp_path / "pool" / "a_run.toml"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows = [{ row = 1, seconds = 1.0, catches = [] }]", r"rows\.0\.row: .*got 1"),
        ("rows = [{ seconds = 1.0, catches = [] }]", r"rows\.0\.row: "),
        ("rows = [", "not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, said: str):
    (tmp_path / "smoke.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        read(tmp_path / "smoke.toml")
